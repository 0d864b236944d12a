"""Every published verdict beside ours, by source: how many agree, how long it took, the slowest file.

The rows are those of ``tests/checker/test_published_verdicts.py``; times include reading and explaining.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[2] / "tests" / "checker" / "test_published_verdicts.py"


def main() -> None:
    """Print the table."""
    sys.path.insert(0, str(TESTS.parents[2]))
    spec = importlib.util.spec_from_file_location("published", TESTS)
    assert spec is not None
    assert spec.loader is not None
    published = importlib.util.module_from_spec(spec)
    sys.modules["published"] = published
    spec.loader.exec_module(published)
    table: dict[str, list[tuple[float, str, bool]]] = {}
    for row in published.rows():
        began = time.perf_counter()
        agreed = published.judge(row) == row.wanted
        table.setdefault(row.group, []).append((time.perf_counter() - began, row.path, agreed))
    for group, several in sorted(table.items()):
        agreeing = sum(agreed for _, _, agreed in several)
        total, (slowest, path, _) = sum(seconds for seconds, _, _ in several), max(several)
        print(
            f"{group:32} {agreeing:4} of {len(several):<4} {total:7.3f} s, slowest {slowest:.3f} {path}"
        )


if __name__ == "__main__":
    main()
