"""Which rule a violation breaks, from evidence alone: `convict`."""

from .convict import convict
from .owed import Family, Owed
from .said import Certainty, Conviction

__all__ = ["Certainty", "Conviction", "Family", "Owed", "convict"]
