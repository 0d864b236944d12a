"""Templates whose every text is shown for what it is: the one way by which a run's words reach HTML."""

from __future__ import annotations

from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from harness.report.escape import plain

TEXT_CHARS_MAX: Final = 2_000


def environment(package: str) -> Environment:
    """Return an environment for the templates in the folder ``static`` of a package."""
    return Environment(
        loader=PackageLoader(package, "static"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """Return a value as the template may print it: nothing hidden in it, and no longer than a text is.

    Whatever is no text prints as one, and an operation prints a value of its run.
    """
    return value if isinstance(value, Markup) else plain(value, chars_max=TEXT_CHARS_MAX)
