"""The page spelled out as one HTML file: thin, but for what makes a hostile run harmless.

Every text of a run passes through `plain` (nothing hidden, no longer than a line) and then through the
template's escaping, both by default and not by remembering it. Numbers for the script travel as JSON in
a data block, with ``<``, ``>`` and ``&`` as escapes. The file asks for nothing from anywhere, and its
policy allows nothing but the style and the scripts in it, by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import msgspec
from markupsafe import Markup

from checker.values import shorten, show
from harness.report.escape import plain
from harness.report.load import load
from harness.store.files import write_atomic
from harness.store.rundir import RunDir

from .page import Page, page_of
from .shapes import Bar, at, ms
from .templating import environment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SIZE_MAX_BYTES: Final = 5_000_000
_ROWS_MAX: Final = (100, 20)
WIDTH_MIN_PERCENT: Final = 0.15
OUTSIDE_PERCENT: Final = 0.1
EDGE_PERCENT: Final = 3
CELL_CHARS_MAX: Final = 80
SIGNS: Final = {
    "vote": "M0-6 5 0 0 6-5 0z",
    "vote-bound": "M0-8 7 0 0 8-7 0z",
    "token": "M0-6 5 0 0 6-5 0z",
    "refused": "M0-5 4 0 0 5-4 0z",
    "revoke": "M-4-4 4 4M-4 4 4-4",
    "stored": "M-3-5H3V5H-3z",
    "fell": "M-4-8H4V8H-4z",
    "boot": "M-4 5 0-5 4 5z",
    "anomaly": "M0-6V2M0 5V6",
    "transfer": "M-5-3H2V-6L7 0 2 6V3H-5z",
}
"""The outline of each kind of sign, around its middle."""


def render(directory: Path, *, verdict: Mapping[str, Any] | None = None) -> bytes:
    """Return the report of a run directory; raise `NotARun` if it is none.

    ``verdict``, an object as ``--json`` prints it, stands in for the run's own verdict.json.
    """
    page = page_of(load(directory, verdict=verdict))
    html = html_of(page)
    for rows_max in _ROWS_MAX:  # nothing that a run of ours leaves comes here
        if len(html) <= SIZE_MAX_BYTES:
            break
        html = html_of(page.cut(rows_max))
    return html


def write(directory: Path, *, verdict: Mapping[str, Any] | None = None) -> Path:
    """Write ``report.html`` into a run directory; return its path. Raises `StoreError`."""
    path = RunDir(directory).report
    write_atomic(path, render(directory, verdict=verdict))
    return path


def html_of(page: Page) -> bytes:
    """Spell a page out."""
    style, script, library = _asset("report.css"), _asset("report.js"), _library()
    hashes = " ".join(f"'sha256-{_hash(text)}'" for text in (script, library))
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; script-src {hashes};"
        " base-uri 'none'; form-action 'none'"
    )
    html: str = _template().render(
        page=page,
        policy=policy,
        style=Markup(style),  # noqa: S704 - our own files
        script=Markup(script),  # noqa: S704 - our own files
        library=Markup(library),  # noqa: S704 - a package's file
        data=Markup(_data(page)),  # noqa: S704 - escaped there
    )
    return html.encode("utf-8", errors="backslashreplace")


def _data(page: Page) -> str:
    """Return what the script needs, as JSON that no parser of HTML sees markup in."""
    figure = page.figure
    told = {
        "view": figure.view_ns,
        "span": figure.span_ns,
        "charts": page.charts,
        "faults": [(plain(bar.label), bar.start_ns / 1e9, bar.end_ns / 1e9) for bar in figure.stripes],
    }
    text = msgspec.json.encode(told).decode()  # of text only what is plain already
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


@cache
def _template() -> Any:
    made = environment("harness.report.html")
    made.filters |= {
        "ms": ms,
        "at": at,
        "percent": _percent,
        "left": _left,
        "width": _width,
        "far": _far,
        "anchor": _anchor,
        "show": show,
        "brief": lambda value: shorten(str(value), CELL_CHARS_MAX),
        "sign": SIGNS.__getitem__,
    }
    return made.get_template("report.html.j2")


def _percent(time_ns: int, view_ns: tuple[int, int]) -> str:
    """Return where an instant is in a view, as a percentage of its width."""
    return f"{(time_ns - view_ns[0]) * 100 / (view_ns[1] - view_ns[0]):.3f}"


def _width(bar: Bar, view_ns: tuple[int, int]) -> str:
    """Return how wide a bar is as far as it is in the view, wide enough to be seen."""
    length_ns = view_ns[1] - view_ns[0]
    end = min((bar.end_ns - view_ns[0]) * 100 / length_ns, 100 + OUTSIDE_PERCENT)
    return f"{max(end - _start(bar, view_ns), WIDTH_MIN_PERCENT):.3f}"


def _left(bar: Bar, view_ns: tuple[int, int]) -> str:
    """Return where a bar begins; one cut off begins at the edge, so that its label is seen."""
    return f"{_start(bar, view_ns):.3f}"


def _start(bar: Bar, view_ns: tuple[int, int]) -> float:
    share = (bar.start_ns - view_ns[0]) * 100 / (view_ns[1] - view_ns[0])
    return share if bar.beside or bar.end_ns <= view_ns[0] else max(share, -OUTSIDE_PERCENT)


def _far(bar: Bar, view_ns: tuple[int, int]) -> bool:
    """Whether a bar is so far right that its label has room at its left only."""
    return bar.start_ns + bar.end_ns > view_ns[0] + view_ns[1] + (view_ns[1] - view_ns[0]) // 10


def _anchor(time_ns: int, view_ns: tuple[int, int]) -> str:
    """Return on which side of an instant its label stands, so that it is not cut off."""
    share = (time_ns - view_ns[0]) * 100 // (view_ns[1] - view_ns[0])
    return "start" if share < EDGE_PERCENT else "end" if share >= 100 - EDGE_PERCENT else "middle"


@cache
def _asset(name: str) -> str:
    return resources.files("harness.report.html").joinpath("static", name).read_text("utf-8")


@cache
def _library() -> str:
    """Return Chart.js, as the package chartkick ships it."""
    static = resources.files("chartkick").joinpath("django", "static", "chartkick", "Chart.bundle.js")
    return static.read_text("utf-8").replace("</script", "<\\/script")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
