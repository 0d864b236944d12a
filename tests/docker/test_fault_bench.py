import asyncio
import sys

import faults
import pytest

AT_REST = {"cut": [1.5, 90.0, 1.6], "pause": [1.0], "clock": [1.0], "step": [0.1]}
LATE = AT_REST | {"pause": [2.5, 0.1, 2.1]}


def test_a_median_over_its_limit_is_told_and_a_single_outlier_is_not() -> None:
    assert faults.over(AT_REST) == set()
    assert faults.over(LATE) == {"pause"}
    assert faults.over(AT_REST | {"pause": [faults.LIMITS_MS["pause"]]}) == set()


@pytest.mark.parametrize(("found", "code"), [(AT_REST, 0), (LATE, 1)])
def test_it_exits_with_1_if_a_median_is_over(
    found: dict[str, list[float]],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def measure(*_: object) -> dict[str, list[float]]:
        await asyncio.sleep(0)
        return found

    monkeypatch.setattr(faults, "measure", measure)
    monkeypatch.setattr(sys, "argv", ["faults.py"])
    assert faults.main() == code
    assert ("OVER" in capsys.readouterr().out) == bool(code)


def test_the_help_says_how_it_exits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["faults.py", "--help"])
    with pytest.raises(SystemExit):
        faults.main()
    assert "Exits with 1 if a median is over its limit" in capsys.readouterr().out
