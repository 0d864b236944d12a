"""Plans: what a run is to do. ``plan_from`` is the way from files and options to a complete `Plan`."""

from .draft import Trust, from_file, from_options
from .errors import PlanError
from .make import is_plan, moved, plan_from
from .plan import FIELDS, Plan, ScheduleFrom

__all__ = [
    "FIELDS",
    "Plan",
    "PlanError",
    "ScheduleFrom",
    "Trust",
    "from_file",
    "from_options",
    "is_plan",
    "moved",
    "plan_from",
]
