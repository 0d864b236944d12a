"""Cases as a JUnit file, in the strictest of its dialects: that of the Ant task.

There a suite has properties, cases and the two outputs, in that order and all of them, with a time
stamp without a zone; a case has a class, a time and one result at most. What accepts this accepts the
others too (Jenkins, GitLab, the actions that read such files). XML has no way to write most control
characters, so nothing gets in that was not made printable.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from harness.report.escape import plain

from .case import Case, Shown, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CASES_MAX: Final = 20_000
ORIGIN: Final = "1970-01-01T00:00:00"
"""When virtual time begins."""


def now() -> str:
    """Return the time of day as such a file has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())


def junit(cases: Sequence[Case], *, began: str) -> bytes:
    """Return the file; of more than `CASES_MAX` cases the last that passed are left out, and counted."""
    room = CASES_MAX - sum(case.shown is not Shown.PASSED for case in cases)
    suites: dict[str, list[Case]] = {}
    left_out: dict[str, int] = {}
    for case in cases:
        suite = suites.setdefault(case.suite, [])
        if case.shown is Shown.PASSED:
            room -= 1
            if room < 0:
                left_out[case.suite] = left_out.get(case.suite, 0) + 1
                continue
        suite.append(case)
    root = ET.Element("testsuites")
    for number, (name, told) in enumerate(suites.items()):
        root.append(_suite(name, told, number=number, began=began, left_out=left_out.get(name, 0)))
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _suite(name: str, cases: Iterable[Case], *, number: int, began: str, left_out: int) -> ET.Element:
    cases = tuple(cases)
    shown = [case.shown for case in cases]
    suite = ET.Element(
        "testsuite",
        {
            "id": str(number),
            "package": "lantern",
            "name": plain(name),
            "timestamp": began,
            "hostname": "localhost",
            "tests": str(len(cases)),
            "failures": str(shown.count(Shown.FAILURE)),
            "errors": str(shown.count(Shown.ERROR)),
            "skipped": str(shown.count(Shown.SKIPPED)),
            "time": f"{sum(case.seconds for case in cases):.3f}",
        },
    )
    ET.SubElement(suite, "properties")
    for case in cases:
        suite.append(_case(case))
    ET.SubElement(suite, "system-out").text = f"{left_out} more passed" if left_out else None
    ET.SubElement(suite, "system-err")
    return suite


def _case(case: Case) -> ET.Element:
    element = ET.Element(
        "testcase",
        {
            "classname": f"lantern.{case.title}",
            "name": plain(case.name),
            "time": f"{case.seconds:.3f}",
        },
    )
    match case.shown:
        case Shown.PASSED:
            pass
        case Shown.SKIPPED:
            ET.SubElement(element, "skipped", message=f"known: {listed(case.known)}: {case.sentence}")
        case Shown.FAILURE | Shown.ERROR:
            result = ET.SubElement(element, case.shown.value, message=case.sentence, type=case.word)
            result.text = "\n".join(case.details())
    return element
