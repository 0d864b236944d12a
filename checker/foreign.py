"""Models of the caller's: whatever goes wrong with one is its error, by name, never a bare exception.

Our own models are trusted: what goes wrong with them is a bug of ours, and stays what it is.
"""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

from checker.errors import CheckerError, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checker.models import Model

_OURS = "checker."


def foreign(model: Model) -> bool:
    """Return whether ``model`` is none of ours."""
    return not type(model).__module__.startswith(_OURS)


@contextmanager
def blamed(model: Model) -> Iterator[None]:
    """Turn whatever a foreign model causes in here into a `ModelError`.

    That may be raised far from the model: by comparing its states, or by the second look, to which it
    has answered something else than to the first.
    """
    try:
        yield
    except (CheckerError, MemoryError):
        raise
    except AssertionError as error:
        if not foreign(model):
            raise
        cause = f"asked again it answers otherwise, or changes what it was given ({error})"
        raise ModelError(model.name, "a second look", cause) from error
    except (Exception, SystemExit) as error:
        if not foreign(model):
            raise
        raise ModelError(model.name, _place(error), f"{type(error).__name__}: {error}") from error


def _place(error: BaseException) -> str:
    """Return which method of a model an error came out of."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    theirs = (f for f in frames[1:] if not f.f_globals.get("__name__", "").startswith(_OURS))
    return next((frame.f_code.co_name for frame in theirs), "what it answered")
