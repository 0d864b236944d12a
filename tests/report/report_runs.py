"""Run directories to make reports of: real simulated runs, made once, and what is done to them."""

from __future__ import annotations

import atexit
import json
import shutil
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from harness.plan import plan_from
from harness.run.run import run


@cache
def simulated(mistake: str = "", *, time_s: float = 3.0, **more: Any) -> Path:
    """Return the directory of a simulated run; nobody writes there but reports."""
    given = {"on": "sim", "seed": 7, "time": time_s, **more} | (
        {"mistake": (mistake,)} if mistake else {}
    )
    store = Path(mkdtemp(prefix="lantern-report-tests-"))
    atexit.register(shutil.rmtree, store, ignore_errors=True)
    result = run(plan_from(None, given), store_dir=store)
    return result.directory


def copy_of(run_dir: Path, where: Path) -> Path:
    """Return a copy that may be spoilt."""
    return Path(shutil.copytree(run_dir, where / "copy", ignore=shutil.ignore_patterns("report.html")))


def changed(run_dir: Path, **verdict: Any) -> None:
    """Write other things into its verdict.json."""
    path = run_dir / "verdict.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **verdict}))


class Read(HTMLParser):
    """What a reader without JavaScript gets: the text outside scripts and styles, and every tag."""

    def __init__(self, html: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._silent = 0
        self.feed(html.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._silent += tag in {"script", "style", "noscript"}

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in {"script", "style", "noscript"}

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def count(self, tag: str, *, kind: str = "") -> int:
        return sum(name == tag and kind in (at.get("class") or "").split() for name, at in self.tags)
