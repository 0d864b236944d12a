"""What can go wrong here, and what each type decides.

    CheckerError
    ├── MalformedHistory   the history itself is broken: stop, no verdict (exit code 5)
    └── ModelError         a model raised or answered nonsense: our bug or its author's, no verdict

Neither is ever a violation, and neither is ever swallowed. A wrong *argument* (an unknown model, a
negative limit) is a plain ``ValueError`` that names the value.
"""

from __future__ import annotations


class CheckerError(Exception):
    """The root of everything the checker raises on purpose."""


class MalformedHistory(CheckerError):  # noqa: N818 - the name of the outcome  # the name of the outcome
    """A line of a history cannot be what it claims to be.

    ``line`` counts from 1; None where the file as a whole is at fault. ``sentence`` stands alone,
    without the place.
    """

    def __init__(self, sentence: str, *, name: str, line: int | None = None) -> None:
        self.sentence = sentence
        self.name = name
        self.line = line
        super().__init__(str(self))

    def __str__(self) -> str:
        place = self.name if self.line is None else f"{self.name}:{self.line}"
        return f"{place}: {self.sentence}"

    def __reduce__(self) -> tuple[object, ...]:
        return _malformed, (self.sentence, self.name, self.line)


def _malformed(sentence: str, name: str, line: int | None) -> MalformedHistory:
    """Rebuild one that crossed from a worker process."""
    return MalformedHistory(sentence, name=name, line=line)


class ModelError(CheckerError):
    """Model ``model`` raised, or returned what no model may, on the operation described."""

    def __init__(self, model: str, operation: str, cause: str) -> None:
        self.model = model
        self.operation = operation
        self.cause = cause
        super().__init__(f"model {model} failed on {operation}: {cause}")

    def __reduce__(self) -> tuple[object, ...]:
        return ModelError, (self.model, self.operation, self.cause)
