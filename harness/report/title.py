"""What was run, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.plan.plan import Plan


def title_of(plan: Plan) -> str:
    """Return the line that heads a summary and a report."""
    mistakes = f", mistake {', '.join(plan.mistakes)}" if plan.mistakes else ""
    return (
        f"{plan.target}, policy {plan.policy}{mistakes}, {plan.nodes} nodes on {plan.on}, "
        f"{plan.clients} clients, seed {plan.seed}"
    )
