"""``lantern doctor``: look at this host; say what works, and what to do about the rest."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from harness.outcome import Outcome
from harness.report.escape import plain
from harness.report.fold import folded
from targets.cluster import ClockMode
from targets.target import Place

from . import options, probes
from .probes import Finding, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .output import Output

_RUNS: Final = Path("runs")
_NEEDED_BY_THE_REST: Final = frozenset({"own-clock", "engine"})
_MARKS: Final = {Standing.OK: "ok", Standing.LIMITED: "limited", Standing.BROKEN: "BROKEN"}

PROBES: Final[dict[str, Callable[[], Finding]]] = {
    "python": probes.python,
    "own-clock": probes.own_clock,
    "true-clock": probes.true_clock,
    "clock-wall": partial(probes.clock, ClockMode.WALL, "a wall clock jumps"),
    "clock-rate": partial(probes.clock, ClockMode.RATE, "a monotonic clock runs faster"),
    "signals": probes.signals,
    "loopback": probes.loopback,
    "disk": partial(probes.disk, _RUNS),
    "cores": probes.cores,
    "limits": probes.limits,
    "docker-engine": probes.engine,
}


@click.command()
@click.option(
    "--on",
    type=options.places(Place.LOCAL, Place.DOCKER),
    default=Place.LOCAL.value,
    show_default=True,
    help="Where runs go.",
)
@options.as_json
@click.pass_obj
def doctor(output: Output, /, on: str, *, as_json: bool) -> Outcome:
    """Look at this host: what works, what does not, and the remedy."""
    findings = _look(on)
    broken = any(finding.standing is Standing.BROKEN for finding in findings)
    outcome = Outcome.HARNESS_FAILURE if broken else Outcome.PASS
    if as_json:
        rows = [
            {"name": f.name, "standing": f.standing.value, "reason": f.reason, "remedy": f.remedy}
            for f in findings
        ]
        output.json({"outcome": outcome, "on": on, "findings": rows})
    else:
        output.result(_lines(findings))
    return outcome


def _look(on: str) -> list[Finding]:
    """Probe one thing after the other, until one is broken that all the rest needs.

    Under a bent clock no wait of ours could be trusted to end; without an engine there is no container
    whose links could be cut.
    """
    asked = dict(PROBES)
    if on == Place.DOCKER:
        from . import container_probes  # noqa: PLC0415 - half a second

        del asked["docker-engine"]  # there it is needed, and probed as such
        asked |= container_probes.PROBES
    findings = []
    for name, probe in asked.items():
        findings.append(probes.tried(name, probe))
        if name in _NEEDED_BY_THE_REST and findings[-1].standing is Standing.BROKEN:
            break
    return findings


def _lines(findings: list[Finding]) -> Iterator[str]:
    name_chars = max(len(finding.name) for finding in findings) + 2
    for finding in findings:
        head = f"{_MARKS[finding.standing]:<9}{finding.name:<{name_chars}}"
        under = " " * len(head)
        yield from folded(plain(finding.reason), first=head, rest=under)
        if finding.remedy is not None:
            yield from folded(f"remedy: {plain(finding.remedy)}", first=under, rest=f"{under}  ")
