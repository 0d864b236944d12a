"""The command ``lantern``: its verbs, each in a module that is imported when it is asked for."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Final

import click

VERBS: Final = {
    "run": "harness.cli.run:run",
    "campaign": "harness.cli.campaign:campaign",
    "replay": "harness.cli.replay:replay",
    "shrink": "harness.cli.shrink:shrink_",
    "serve": "harness.cli.serve:serve",
    "sweep": "harness.cli.sweep:sweep",
    "pack": "harness.cli.pack:pack",
    "unpack": "harness.cli.pack:unpack",
    "check": "harness.cli.check:check",
    "report": "harness.cli.report:report",
    "convert": "harness.cli.convert:convert",
    "list": "harness.cli.list:list_",
    "heal": "harness.cli.heal:heal",
    "doctor": "harness.cli.doctor:doctor",
}

HELP: Final = """Test clusters that answer reads from a leader's lease.

\b
Exit codes: 0 pass, 1 violation, 2 usage, 3 unknown, 4 not exercised,
            5 malformed history, 6 harness failure, 7 expectation missed,
            130 interrupted.
"""


class Verbs(click.Group):
    """Who lists what there is waits for no simulator."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs."""
        del ctx
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb of this name."""
        if cmd_name in VERBS and cmd_name not in self.commands:
            self.add_command(resolve_name(VERBS[cmd_name]))
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=Verbs,
    help=HELP,
    context_settings={"max_content_width": 80, "show_default": True},
    no_args_is_help=False,
)
@click.version_option(package_name="lantern-chaos", prog_name="lantern")
def lantern() -> None:
    """Hold the verbs together."""
