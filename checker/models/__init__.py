"""Every model by its name on the command line, and which one a history is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.models.model import Model
from checker.models.register import CasRegister, Register

if TYPE_CHECKING:
    from checker.operations import History

MODELS: Final[dict[str, type[Model]]] = {model.name: model for model in (Register, CasRegister)}


def detect(history: History) -> str:
    """Return the model a history names in its header, or the first one that knows its functions."""
    if history.header is not None and history.header.model in MODELS:
        return history.header.model
    functions = {kind.f for kind in history.kinds}
    for name, model in MODELS.items():
        if functions <= model.functions:
            return name
    return Register.name


__all__ = ["MODELS", "Model", "detect"]
