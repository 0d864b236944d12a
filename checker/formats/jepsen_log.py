r"""Jepsen's console log of an etcd register test, as Porcupine's test data has it.

    INFO  jepsen.util - 3	:invoke	:cas	[1 4]
    INFO  jepsen.util - 3	:info	:cas	:timed-out

Everything else a log holds is no event and is passed over. There are no stamps; the order of the lines
counts. A read that timed out says nothing; a failed cas says that the value was not the old one
(etcd answers so), which is why this format's convention is to assert it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from checker.conventions import Conventions, FailedCas
from checker.pairing import Line

if TYPE_CHECKING:
    from checker.formats.source import Rows, Source

NAME: Final = "jepsen-log"
CONVENTIONS: Final = Conventions(bare_failed_cas=FailedCas.ASSERT)
_EVENT: Final = re.compile(r"INFO\s+jepsen\.util - (\S+)\s+:(\w+)\s+:([\w-]+)\s+(.*?)\s*$")
_PAIR: Final = re.compile(r"\[(\S+) (\S+)\]$")


def sniff(head: bytes) -> bool:
    """Return whether a file that starts with ``head`` is of this format."""
    return b"jepsen.util - " in head


def rows(source: Source) -> Rows:
    """Yield the events of ``source`` with their lines."""
    for number, text in enumerate(source.data.decode("utf-8", "replace").splitlines(), 1):
        found = _EVENT.match(text)
        if found is None:
            continue
        process, kind, f, told = found.groups()
        value, error = None, None
        if told.startswith(":"):
            error = told[1:]
        else:
            try:
                value = _value(told)
            except ValueError:
                source.refuse(f"'{told}' is no value", number)
                continue
        yield number, Line(process=_process(process), type=kind, f=f, value=value, error=error)


def _process(text: str) -> int | str:
    return int(text) if text.isdigit() else text.removeprefix(":")


def _value(text: str) -> Any:
    pair = _PAIR.match(text)
    if pair is not None:
        return [_value(pair[1]), _value(pair[2])]
    return None if text == "nil" else int(text)
