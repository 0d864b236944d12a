"""docs/campaigns.md is complete, and its examples are campaigns."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from harness.campaign.file import from_file
from harness.campaign.matrix import Block, Matrix

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "campaigns.md").read_text()


@pytest.mark.parametrize(
    "key", [field.encode_name for kind in (Block, Matrix) for field in msgspec.structs.fields(kind)]
)
def test_every_key_of_a_campaign_is_explained(key: str) -> None:
    assert re.search(rf"\b{key}\b`?[:|` ]", TEXT)


def test_the_example_in_the_text_is_a_campaign(tmp_path: Path) -> None:
    (example,) = re.findall(r"<!-- tested.*?-->\n```yaml\n(.*?)```", TEXT, flags=re.DOTALL)
    file = tmp_path / "campaign.yaml"
    file.write_text(example)
    read = from_file(file)
    names = [entry.name for entry in read.entries]
    assert len(names) == 2 * (3 * 2 - 1) + 4 + 1
    assert "right/readindex/partition/local" in names
    assert read.entries[-1].seeds == (3, 17)
    assert len(read.left_out) == 2


def test_the_file_of_the_examples_is_a_campaign() -> None:
    read = from_file(DOCS / "examples" / "campaign.yaml")
    assert {entry.expected.value for entry in read.entries} == {"pass", "not-exercised", "violation"}
    assert {str(entry.options["on"]) for entry in read.entries} == {"sim", "local"}
