"""The command ``lantern``: its verbs, each in a module of its own."""

from __future__ import annotations

from typing import Final

import click

from .campaign import campaign
from .check import check
from .convert import convert
from .doctor import doctor
from .heal import heal
from .list import list_
from .replay import replay
from .run import run
from .shrink import shrink_
from .sweep import sweep

HELP: Final = """Test clusters that answer reads from a leader's lease.

\b
Exit codes: 0 pass, 1 violation, 2 usage, 3 unknown, 4 not exercised,
            5 malformed history, 6 harness failure, 7 expectation missed,
            130 interrupted.
"""


@click.group(
    help=HELP,
    context_settings={"max_content_width": 80, "show_default": True},
    no_args_is_help=False,
)
@click.version_option(package_name="lantern-chaos", prog_name="lantern")
def lantern() -> None:
    """Hold the verbs together."""


for _verb in (run, campaign, replay, shrink_, sweep, check, convert, list_, heal, doctor):
    lantern.add_command(_verb)
