"""What lies in docs/examples does what its page says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from docs_commands import PAGES, ROOT

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (5, "pass"),
        (3, "violation not linearizable: key k: read -> 3 (process 1, line 3) fits nowhere"),
    ],
)
def test_a_model_of_ones_own_judges_a_history(tmp_path: Path, read: int, said: str) -> None:
    events = [
        {"process": 0, "type": "invoke", "f": "raise", "key": "k", "value": 5},
        {"process": 0, "type": "ok", "f": "raise", "key": "k", "value": 5},
        {"process": 1, "type": "invoke", "f": "read", "key": "k", "value": None},
        {"process": 1, "type": "ok", "f": "read", "key": "k", "value": read},
    ]
    history = tmp_path / "history.jsonl"
    history.write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    command = [sys.executable, str(ROOT / "docs/examples/my_model.py"), str(history)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.startswith(said)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
