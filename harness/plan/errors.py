"""The one way a plan can be wrong: said in a sentence, with the place, before anything starts."""

from __future__ import annotations


class PlanError(Exception):
    """A usage error. ``where`` is ``plan.yaml:12`` or an option; None if it is neither's fault."""

    def __init__(self, sentence: str, *, where: str | None = None) -> None:
        super().__init__(sentence if where is None else f"{where}: {sentence}")
        self.sentence = sentence
        self.where = where
