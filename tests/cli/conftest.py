"""The one fixture of these tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli_lantern import Lantern

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lantern(tmp_path: Path) -> Lantern:
    return Lantern(tmp_path)
