"""Which rule a violation breaks, from evidence alone: `convict`."""

from .convict import convict
from .incident import Incident, of_findings, of_history
from .owed import Family, Owed
from .said import Certainty, Conviction

__all__ = [
    "Certainty",
    "Conviction",
    "Family",
    "Incident",
    "Owed",
    "convict",
    "of_findings",
    "of_history",
]
