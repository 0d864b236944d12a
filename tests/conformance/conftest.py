"""The kinds of cluster that a test of this folder runs on: see `conformance_kinds`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from conformance_kinds import IN_MINUTES, KINDS, Kind, Started

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=IN_MINUTES)
def kind(request: pytest.FixtureRequest) -> Kind:
    """One kind of cluster."""
    if request.param.startswith("docker"):
        request.getfixturevalue("engine")
    return KINDS[request.param]


@pytest.fixture
def on(kind: Kind, tmp_path: Path) -> Started:
    """A function that runs some work on a cluster of its own."""
    return Started(kind, tmp_path / "run")
