"""Faults as data, schedules of them, the machine that runs a schedule, and the means to make them real.

``parse`` and ``dump`` turn plain objects into a `Schedule` and back; ``aimed`` and ``main_job``
make schedules; `Machine` runs one; `nemesis.means` carries its faults out on a cluster.
What was really done is the machine's `InjectionRecord`.
"""

from .aimed import aimed
from .dump import dump
from .machine import EpisodeRun, Injected, InjectionRecord, Machine
from .parse import parse
from .schedule import Episode, Schedule, ScheduleError, Step
from .seeded import FAMILIES, main_job

__all__ = [
    "FAMILIES",
    "Episode",
    "EpisodeRun",
    "Injected",
    "InjectionRecord",
    "Machine",
    "Schedule",
    "ScheduleError",
    "Step",
    "aimed",
    "dump",
    "main_job",
    "parse",
]
