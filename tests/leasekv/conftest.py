"""Lets the tests of this folder import its helpers, which start with ``leasekv_``.

``pytest tests/leasekv --rewrite-leasekv`` writes what the trace scripts print now; commit the
difference only if you can explain every line of it.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-leasekv", action="store_true", help="rewrite the traces of tests/leasekv"
    )
