"""Scripts of `conviction_script` in files, and what they convict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conviction_script import Script

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent / "testdata"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-conviction", action="store_true", help="rewrite the traces of tests/conviction"
    )


@pytest.fixture
def play(request: pytest.FixtureRequest) -> Callable[[Path], tuple[list[str], list[str]]]:
    """Return a function that gives what a file convicts, and what it says that it does."""

    def play_file(path: Path) -> tuple[list[str], list[str]]:
        text, _, expected = path.read_text(encoding="utf-8").partition("----\n")
        said = list(Script(text).said())
        if request.config.getoption("--rewrite-conviction", default=False):
            path.write_text(f"{text}----\n" + "".join(f"{line}\n" for line in said), encoding="utf-8")
        return said, expected.splitlines()

    return play_file


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give every script to every test that asks for one."""
    if "trace" in metafunc.fixturenames:
        paths = sorted(HERE.glob("*.txt"))
        metafunc.parametrize("trace", paths, ids=[path.stem for path in paths])
