"""Where a cluster may live, whatever the environment and the umask say."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from targets.cluster import TargetError
from targets.host import runtime
from targets.leasekv.evidence_file import EvidenceFile
from targets.local.process import NodeProcess, environment


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("place", [".", "", "relative", "{tmp}/with space", "{tmp}/" + "long/" * 15])
def test_a_place_that_does_not_suit_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = place.format(tmp=tmp_path)
    Path(chosen).mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", chosen)
    made = runtime.Runtime("a-run")
    try:
        assert made.path.is_absolute()
        assert tmp_path not in made.path.parents
        made.admin_socket("n1")
    finally:
        made.remove()


def test_with_no_place_at_all_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "bases", lambda: (tmp_path / "with space",))
    with pytest.raises(TargetError, match=r"with space.*TMPDIR"):
        runtime.Runtime("a-run")


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_an_umask_reaches_no_file_of_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setattr(runtime, "bases", lambda: (Path(short),))
        before = os.umask(umask)
        try:
            made = runtime.Runtime("a-run")
            data = made.directory("data", "n1")
            EvidenceFile(tmp_path / "n1.jsonl", "n1").close()
            process = NodeProcess(
                "n1",
                (sys.executable, "-c", "import os; os.close(os.open('by-node', os.O_CREAT, 0o666))"),
                env=environment({}),
                cwd=tmp_path,
                log=tmp_path / "n1.log",
            )
            process._child.wait()
        finally:
            os.umask(before)
        assert mode(made.path) == mode(data) == mode(data.parent) == 0o700
        assert mode(made.path / runtime.MANIFEST) == 0o600
        assert runtime.find()[0].path == made.path  # a heal looks at private directories only
    assert mode(tmp_path / "n1.jsonl") == mode(tmp_path / "n1.log") == 0o644
    assert mode(tmp_path / "by-node") == 0o644
