"""Pages as HTML: every text of a run passes through `plain` and then through the template's escaping."""

from __future__ import annotations

import time
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from checker.values import shorten
from harness.report.escape import plain
from harness.report.html.templating import environment
from harness.report.tone import of_outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import jinja2

    from .campaigns import Campaign
    from .compare import Section
    from .shelf import Shown

PAGE_RUNS: Final = 200
CAMPAIGN_ROWS: Final = 5000
REASON_CHARS_MAX: Final = 300
CELL_CHARS_MAX: Final = 60
FILTERS: Final = ("outcome", "rule", "target", "policy", "mistake", "on")


def style() -> str:
    """Return the style sheet: the report's, and a little more."""
    report = resources.files("harness.report.html").joinpath("static", "report.css")
    own = resources.files("harness.serve").joinpath("static", "serve.css")
    return report.read_text("utf-8") + own.read_text("utf-8")


def index(
    runs: Mapping[str, Shown],
    campaigns: Mapping[str, Campaign],
    asked: Mapping[str, str],
    *,
    store: str,
) -> str:
    """Return the first page: campaigns, and the runs that pass the filter."""
    wanted = {key: asked[key] for key in FILTERS if asked.get(key)}
    passing = [run for run in runs.values() if passes(run, wanted, asked.get("text", ""))]
    first = min(_number(asked.get("from", "0")), max(0, len(passing) - 1)) // PAGE_RUNS * PAGE_RUNS
    return _rendered(
        "index.html.j2",
        store=store,
        campaigns=list(campaigns.values()),
        runs=passing[first : first + PAGE_RUNS],
        shown=len(passing),
        all=len(runs),
        first=first,
        size=PAGE_RUNS,
        choices=choices(runs),
        asked=wanted,
        text=asked.get("text", ""),
    )


def passes(run: Shown, wanted: Mapping[str, str], text: str) -> bool:
    """Tell whether a run has each wanted word, and the text somewhere in what is listed of it."""
    has = _words(run)
    everywhere = " ".join(
        (run.name, run.reason, run.seed, *(word for each in has.values() for word in each))
    )
    return all(word in has[key] for key, word in wanted.items()) and text.lower() in everywhere.lower()


def choices(runs: Mapping[str, Shown]) -> dict[str, list[str]]:
    """Return what there is to filter by."""
    there: dict[str, set[str]] = {key: set() for key in FILTERS}
    for run in runs.values():
        for key, words in _words(run).items():
            there[key].update(word for word in words if word)
    return {key: sorted(words) for key, words in there.items()}


def _words(run: Shown) -> dict[str, tuple[str, ...]]:
    return {
        "outcome": (run.outcome,),
        "rule": run.rules,
        "target": (run.target,),
        "policy": (run.policy,),
        "mistake": run.mistakes,
        "on": (run.on,),
    }


def campaign(found: Campaign, runs: Mapping[str, Shown]) -> str:
    """Return the page of one campaign: its rows, those that nobody expected first."""
    every = found.rows or ()
    rows = sorted(every, key=lambda row: (found.as_expected(row), row.name, row.seed))
    kept = {row.run: f"{found.name}/{row.run}" for row in every if row.run}
    links = {run: name for run, name in kept.items() if name in runs}
    return _rendered("campaign.html.j2", campaign=found, rows=rows[:CAMPAIGN_ROWS], links=links)


def comparison(one: Shown, other: Shown, sections: Sequence[Section]) -> str:
    """Return two runs side by side."""
    return _rendered("compare.html.j2", one=one, other=other, sections=sections)


def problem(sentence: str) -> str:
    """Return a page that says why there is nothing."""
    return _rendered("problem.html.j2", sentence=sentence)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


def _part(text: str) -> str:
    """Return a text as one part of a URL's query."""
    return quote(text, safe="")


def _short(text: str) -> str:
    return plain(text, chars_max=REASON_CHARS_MAX)


def _cell(text: str) -> str:
    """Return a text for a cell that does not wrap: one run may not push the others' off the page."""
    return shorten(plain(text), CELL_CHARS_MAX)


def _when(changed_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(changed_ns // 1_000_000_000))


@cache
def _environment() -> jinja2.Environment:
    made = environment("harness.serve")
    made.filters |= {"tone": of_outcome, "when": _when, "part": _part, "short": _short, "cell": _cell}
    return made


def _rendered(name: str, **values: Any) -> str:
    return _environment().get_template(name).render(**values)
