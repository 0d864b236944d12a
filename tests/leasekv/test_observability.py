"""docs/observability.md, the alerts and the dashboard speak of what a node really shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from targets.cluster import Role, Roster
from targets.leasekv.buckets import Buckets
from targets.leasekv.core import CoreFigures, CoreStatus
from targets.leasekv.metrics import Sample, exposition
from targets.leasekv.tally import Tally

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "observability.md").read_text()
ALERTS = yaml.safe_load((DOCS / "examples" / "leasekv-alerts.yml").read_text())
DASHBOARD = json.loads((DOCS / "examples" / "leasekv-dashboard.json").read_text())
NAME = re.compile(r"leasekv_\w+")
PROMTOOL = shutil.which("promtool")
RAISED = Path(__file__).with_name("testdata") / "alerts.yml"


def shown() -> dict[str, set[str]]:
    """Return every sample's name with its labels, of a node that shows everything there is."""
    tally = Tally("n1", kind="renew")
    tally.read_seconds["lease"] = Buckets()
    status = CoreStatus(Role.LEADER, 1, "n1", 1, 1, 1, 1, Roster(("n1",)), None)
    figures = CoreFigures(0, 1, {}, Buckets())
    told = exposition(Sample(tally, status, figures, rate_ratio=1.0, policy="lease-interval"))
    samples: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(told):
        for sample in family.samples:
            samples.setdefault(sample.name, set()).update(sample.labels)
    return samples


SHOWN = shown()
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
EXPRESSIONS = [rule["expr"] for rule in RULES] + [
    target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]
]


def base(name: str) -> str:
    return re.sub(r"_(bucket|sum|count)$", "", name)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_is_asked_for_is_there_with_its_labels(expression: str) -> None:
    names = NAME.findall(expression)
    assert names
    assert [name for name in names if name not in SHOWN] == []
    labels = set().union(*(SHOWN[name] for name in names)) | {"instance"}
    grouped = re.findall(r"by \(([^)]*)\)", expression)
    assert {label.strip() for group in grouped for label in group.split(",")} <= labels
    assert set(re.findall(r"(\w+)(?:=~?|!=|!~)\"", expression)) <= labels
    assert expression.count("(") == expression.count(")")


def test_every_metric_is_explained_and_drawn() -> None:
    told = {base(name) for name in NAME.findall(TEXT)}
    there = {base(name) for name in SHOWN}
    assert told == there
    drawn = {base(name) for expression in EXPRESSIONS for name in NAME.findall(expression)}
    assert there - drawn <= set()


def test_every_alert_is_explained_and_whole() -> None:
    for rule in RULES:
        assert f"`{rule['alert']}`" in TEXT
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in {"info", "warning", "critical"}
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def promtool(*words: str) -> str:
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.soak
@pytest.mark.skipif(PROMTOOL is None, reason="no promtool: it is in Debian's package prometheus")
def test_prometheus_takes_the_alerts_and_what_the_panels_ask_for(tmp_path: Path) -> None:
    promtool("check", "rules", str(DOCS / "examples" / "leasekv-alerts.yml"))
    asked = [{"record": f"panel:{number}", "expr": each} for number, each in enumerate(EXPRESSIONS)]
    every = tmp_path / "panels.yml"
    every.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": asked}]}))
    assert f"{len(EXPRESSIONS)} rules found" in promtool("check", "rules", str(every))


@pytest.mark.soak
@pytest.mark.skipif(PROMTOOL is None, reason="no promtool: it is in Debian's package prometheus")
def test_alerts_are_raised_by_what_they_speak_of_and_by_nothing_else() -> None:
    """The series that must raise each alert, and those of healthy clusters of every policy."""
    assert "SUCCESS" in promtool("test", "rules", str(RAISED))


def test_every_alert_has_series_that_raise_it() -> None:
    told = RAISED.read_text()
    assert [rule["alert"] for rule in RULES if f'alertname="{rule["alert"]}"' not in told] == []


def test_panels_can_be_imported_as_they_are() -> None:
    (source,) = DASHBOARD["templating"]["list"]
    assert (source["type"], source["query"]) == ("datasource", "prometheus")
    for panel in DASHBOARD["panels"]:
        refs = [target["refId"] for target in panel["targets"]]
        assert len(set(refs)) == len(refs) > 0
        for one in (panel, *panel["targets"]):
            assert one["datasource"] == {"type": "prometheus", "uid": f"${{{source['name']}}}"}
        shown = {name for target in panel["targets"] for name in NAME.findall(target["expr"])}
        placeholders = {
            label
            for target in panel["targets"]
            for label in re.findall(r"{{(\w+)}}", target["legendFormat"])
        }
        assert placeholders <= set().union(*(SHOWN[name] for name in shown)) | {"instance"}


def test_panels_do_not_overlap_and_have_ids_of_their_own() -> None:
    panels: list[dict[str, Any]] = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
