"""``lantern convert``: a history in another format, for other tools to judge again.

What is written is a new file, or standard output; nothing is ever overwritten. What the format cannot
say of the history is said beside it: a verdict about the copy is one about what the copy says.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from checker import MalformedHistory
from checker.formats import FORMATS, WRITABLE, read, unsaid, write
from harness.outcome import Outcome
from harness.report.escape import plain
from harness.store.errors import StoreError
from harness.store.files import write_new

from . import options
from .reading import TooMuch, history_of

if TYPE_CHECKING:
    from .output import Output

AUTO: Final = "auto"
STANDARD: Final = "-"
_BYTES_MAX: Final = 4096 << 20
_UNREAD: Final[dict[type[Exception], Outcome]] = {
    MalformedHistory: Outcome.MALFORMED,
    TooMuch: Outcome.UNKNOWN,
    StoreError: Outcome.USAGE,
    OSError: Outcome.USAGE,
}


@click.command()
@click.argument("source", metavar="IN", type=click.Path(exists=True, allow_dash=True))
@click.argument("target", metavar="OUT", type=click.Path(allow_dash=True))
@click.option(
    "--from", "from_", type=click.Choice([AUTO, *FORMATS]), default=AUTO, help="How IN is written."
)
@click.option("--to", type=click.Choice([AUTO, *WRITABLE]), default=AUTO, help="How to write OUT.")
@options.as_json
@click.pass_obj
def convert(
    output: Output, /, source: str, target: str, *, from_: str, to: str, as_json: bool
) -> Outcome:
    """Write the history IN (a file, a run directory or -) as OUT (a new file or -).

    The format of IN is told from its content, that of OUT from the ending of its name; what goes to
    standard output becomes edn where IN is jsonl, and jsonl otherwise.
    """
    if target != STANDARD:
        to = _by_ending(target) if to == AUTO else to
        if os.path.lexists(target):
            raise click.UsageError(f"{target} is there already; nothing was written")
    elif as_json:
        raise click.UsageError("standard output cannot carry both the history and --json; name a file")
    try:
        data, name = history_of(source, bytes_max=_BYTES_MAX)
        history = read(data, name=name, format=from_)
    except tuple(_UNREAD) as error:
        outcome = next(end for kind, end in _UNREAD.items() if isinstance(error, kind))
        if as_json:
            output.json({"outcome": outcome, "error": str(error)})
        else:
            output.story(f"{outcome.words.upper()}  {error}")
        return outcome
    if to == AUTO:
        to = next(name for name in WRITABLE if name != history.format)
    written = write(history, format=to)
    notes = [*history.notes, *unsaid(history, format=to)]
    if target == STANDARD:
        output.data(written)
        for note in notes:
            output.story(f"note: {note}")
        return Outcome.PASS
    write_new(Path(target), written)
    if as_json:
        said = {"out": target, "from": history.format, "to": to, "operations": len(history)}
        output.json({"outcome": Outcome.PASS, **said, "notes": notes})
    else:
        first = f"{target}: {len(history)} operations, from {history.format} to {to}"
        lines = [first, *(f"note: {note}" for note in notes)]
        output.result(plain(line, chars_max=2000) for line in lines)
    return Outcome.PASS


def _by_ending(target: str) -> str:
    """Return the format that the ending of a name stands for."""
    ending = Path(target).suffix.removeprefix(".").lower()
    if ending not in WRITABLE:
        raise click.UsageError(
            f"the ending of {target} is no format that is written: --to {' or --to '.join(WRITABLE)}"
        )
    return ending
