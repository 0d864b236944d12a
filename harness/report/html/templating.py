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
    """Return a value as the template may print it: text of a run with nothing hidden in it."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return plain(value, chars_max=TEXT_CHARS_MAX)
    return value
