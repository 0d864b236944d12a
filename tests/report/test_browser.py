"""A report in a real browser: its policy lets its own script run, and zoom, filters and charts work."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from report_runs import simulated

from harness.report.html import render

if TYPE_CHECKING:
    from pathlib import Path

BROWSER_S = 50.0
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")

ASK = """
const shown = (kind) => [...document.querySelectorAll("#shapes ." + kind)].filter(
  (node) => getComputedStyle(node).display !== "none").length;
const told = [];
const click = (name) => document.querySelector("[data-zoom=" + name + "]").click();
const next = (steps) => {
  if (!steps.length) { document.title = told.join(" "); return; }
  steps[0]();
  setTimeout(() => next(steps.slice(1)), 200);
};
next([
  () => told.push("first", shown("bar"), shown("op")),
  () => click("all"),
  () => { told.push("all", shown("bar")); click("reset"); },
  () => click("in"),
  () => { told.push("in", shown("op")); click("reset"); },
  () => { for (const box of document.querySelectorAll("[data-filter]")) box.click(); },
  () => told.push("filtered", shown("op")),
  () => told.push("charts", document.querySelectorAll("canvas[width]").length),
]);
"""


def opened(html: bytes, where: Path, *, width: int = 1280) -> tuple[str, str]:
    """Return what the page is after its script has run, and what the browser complained about."""
    path = where / "report.html"
    path.write_bytes(html)
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--virtual-time-budget=6000",
            f"--window-size={width},1500",
            f"--user-data-dir={where / 'profile'}",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        timeout=BROWSER_S,
        check=True,
    )
    complaints = [
        line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line
    ]
    return done.stdout.decode(), "\n".join(complaints)


def with_script(html: bytes, script: str) -> bytes:
    """Return a page with one more script that its policy allows."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest())
    html = html.replace(b"script-src ", b"script-src &#39;sha256-" + digest + b"&#39; ", 1)
    return html.replace(b"</body>", b"<script>" + script.encode() + b"</script></body>")


def test_zoom_filters_and_charts_work(tmp_path: Path) -> None:
    page, complaints = opened(with_script(render(simulated("vote-ignores-promise")), ASK), tmp_path)
    assert complaints == ""
    title = re.search(r"<title>(.*?)</title>", page)
    assert title is not None
    words = title.group(1).split()
    told = {words[at]: int(words[at + 1]) for at in range(len(words)) if words[at].isalpha()}
    operations = int(words[2])
    assert told["all"] > told["first"] > 5
    assert operations > told["in"] > 0
    assert told["filtered"] == 0
    assert told["charts"] == 4


WIDTHS = """
const box = document.querySelector("#proof .scroll");
document.title = [innerWidth, box.scrollWidth, box.clientWidth].join(" ");
"""


def test_on_a_narrow_window_no_column_of_the_proof_is_out_of_sight(tmp_path: Path) -> None:
    html = render(simulated("vote-ignores-promise"))
    page, _ = opened(with_script(html, WIDTHS), tmp_path, width=500)
    title = re.search(r"<title>(.*?)</title>", page)
    assert title is not None
    window, wide, shown = map(int, title.group(1).split())
    assert window == 500
    assert wide == shown


def test_a_script_from_elsewhere_is_not_run(tmp_path: Path) -> None:
    html = render(simulated("vote-ignores-promise"))
    planted = html.replace(b"</body>", b"<script>document.title = 'planted'</script></body>")
    page, complaints = opened(planted, tmp_path)
    assert "<title>planted</title>" not in page
    assert "Content Security Policy" in complaints
