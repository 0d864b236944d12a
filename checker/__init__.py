"""The checker: values in, verdicts out. This file is its whole public face.

    from checker import Budget, check, formats

    history = formats.read(data, name="history.jsonl")
    report = check(history, model="auto", budget=Budget(time_s=60, clock=time.monotonic))
    print(report.outcome, report.sentence)

Nothing here opens a file, reads a clock or draws at random: bytes, clock and memory meter are handed in.
"""

from __future__ import annotations

from checker import formats
from checker.budget import Budget
from checker.check import check
from checker.conventions import Conventions, FailedCas, NilRead, Ties
from checker.errors import CheckerError, MalformedHistory, ModelError
from checker.models import MODELS, Model
from checker.models.register import CasRegister, Register
from checker.operations import NEVER, History, Operation
from checker.verdict import KeyVerdict, Outcome, Report, Staleness, Violation

__all__ = [
    "MODELS",
    "NEVER",
    "Budget",
    "CasRegister",
    "CheckerError",
    "Conventions",
    "FailedCas",
    "History",
    "KeyVerdict",
    "MalformedHistory",
    "Model",
    "ModelError",
    "NilRead",
    "Operation",
    "Outcome",
    "Register",
    "Report",
    "Staleness",
    "Ties",
    "Violation",
    "check",
    "formats",
]
