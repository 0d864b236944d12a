"""What a person sees: the pages in a browser, as far as there is one here."""

from __future__ import annotations

import json
import shutil
import signal
import struct
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from serve_store import SCRIPT, a_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here to look with")


def serve(*arguments: str, cwd: Path | None = None) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "harness.cli.main", "serve", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    a_run(tmp_path / "store" / "runs" / "one", reason=SCRIPT)
    a_run(tmp_path / "store" / "runs" / "two", outcome="pass", rules=(), reason="")
    process = serve("--store", str(tmp_path / "store"), "--port", "0", "--json")
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0  # as it is meant to end
    finally:
        process.kill()
        process.communicate()


def chromium(url: str, *arguments: str, profile: Path) -> bytes:
    assert CHROMIUM is not None
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--window-size=1200,800",
    ]
    command = [CHROMIUM, *options, f"--user-data-dir={profile}", *arguments, url]
    return subprocess.run(command, check=True, capture_output=True, timeout=50).stdout


@needs_chromium
def test_the_list_is_drawn_and_a_strangers_words_do_nothing(url: str, tmp_path: Path) -> None:
    dom = chromium(f"{url}?outcome=violation", "--dump-dom", profile=tmp_path / "profile").decode()
    assert "<title>Lantern: 1 runs</title>" in dom
    assert "1 of 2 runs" in dom
    assert '<option value="violation" selected="">' in dom
    picture = tmp_path / "list.png"
    chromium(url, f"--screenshot={picture}", profile=tmp_path / "profile")
    data = picture.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1200, 800)
    assert len(data) > 15_000  # more than an empty page


MEASURE = """<script>
const tables = [...document.querySelectorAll(".scroll")];
const cells = [...document.querySelectorAll("tbody td:has(a)")].map(cell => cell.offsetWidth);
document.title = [document.documentElement.scrollWidth <= innerWidth,
  tables.every(each => each.scrollWidth <= each.clientWidth), Math.min(...cells) > 190].join();
</script>"""


@needs_chromium
@pytest.mark.parametrize("width", [500, 700, 1200])
def test_a_list_fits_its_window_and_leaves_names_and_reasons_room(
    url: str, width: int, tmp_path: Path
) -> None:
    """The pages have no script, so what measures them is written into a copy."""
    with urlopen(url) as page, urlopen(f"{url}style.css") as style:
        text, sheet = page.read().decode(), style.read().decode()
    copy = tmp_path / "copy.html"
    text = text.replace('<link rel="stylesheet" href="/style.css">', f"<style>{sheet}</style>")
    copy.write_text(text.replace("</body>", f"{MEASURE}</body>"))
    size = f"--window-size={width},800"
    dom = chromium(copy.as_uri(), size, "--dump-dom", profile=tmp_path / "profile").decode()
    assert "<title>true,true,true</title>" in dom


def test_what_is_shown_is_named_in_full(tmp_path: Path) -> None:
    process = serve("--port", "0", cwd=tmp_path)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().decode().startswith(f"{tmp_path} is shown at http://127.0.0.1:")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.com", "::"])
def test_it_listens_on_loopback_only(host: str) -> None:
    process = serve("--host", host, "--port", "0")
    _, story = process.communicate(timeout=50)
    assert process.returncode == 2
    assert b"no address of loopback" in story


def test_a_port_that_is_taken_is_said(url: str) -> None:
    process = serve("--port", url.rstrip("/").rpartition(":")[2])
    _, story = process.communicate(timeout=50)
    assert process.returncode == 2
    assert b"cannot be listened on" in story
