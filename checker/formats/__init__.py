"""Histories of many tools, read into one shape.

A format is a module with four names: ``NAME``; ``CONVENTIONS``, what its tool means where tools
disagree; ``sniff(head)``, whether a file looks like it; ``rows(source)``, its events with their lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from checker.formats import jepsen_log, jsonl
from checker.formats.source import Source
from checker.pairing import pair

if TYPE_CHECKING:
    from types import ModuleType

    from checker.operations import History

_MODULES: Final[tuple[ModuleType, ...]] = (jepsen_log, jsonl)
FORMATS: Final[dict[str, ModuleType]] = {module.NAME: module for module in _MODULES}
_HEAD_BYTES: Final = 4096


def detect(data: bytes) -> str:
    """Return the name of the format ``data`` is in; JSON lines where nothing else fits."""
    head = data[:_HEAD_BYTES]
    return next((name for name, module in FORMATS.items() if module.sniff(head)), jsonl.NAME)


def read(data: bytes, *, name: str, format: str = "auto", lenient: bool = False) -> History:  # noqa: A002 - the option
    """Return the history in ``data``; ``name`` is what errors call it, usually its path.

    ``lenient`` skips lines that cannot be read, and notes it. Raises `MalformedHistory`, and ValueError
    for a format that is none.
    """
    chosen = detect(data) if format == "auto" else format
    module = FORMATS.get(chosen)
    if module is None:
        raise ValueError(f"format {format!r} is none of auto, {', '.join(FORMATS)}")
    source = Source(data=data, name=name, lenient=lenient)
    return pair(
        module.rows(source),
        name=name,
        format=chosen,
        conventions=module.CONVENTIONS,
        source=source,
    )
