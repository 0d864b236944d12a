"""A run's violation brought before the rules: what its policy owes, and what the evidence convicts.

The plan's mistakes and the rules that it switches off are not looked at: what is convicted here is
convicted by what the nodes wrote. Only as a hint do names of the catalog stand beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from checker.conviction import Certainty, Conviction, Owed, convict, of_findings, of_history
from checker.conviction.fences import fence_breaches
from checker.conviction.owed import PPM
from checker.conviction.said import of_breach
from checker.oracles import fencing
from checker.oracles.result import OracleOutcome
from targets.catalog import find

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from checker.oracles.result import OracleResult
    from checker.timeline import Timelines
    from checker.verdict import Violation
    from harness.plan.plan import Plan
    from targets.target import Mistake


def owed(plan: Plan) -> Owed | None:
    """Return what evidence of a run of this plan can be held against; None if there is nothing."""
    terms = find(plan.target).modes[plan.policy].terms
    if terms is None:
        return None
    return Owed(
        nodes=plan.node_names,
        voters=plan.voter_names,
        families=terms.families,
        election_ns=plan.election_ns,
        drift_ppm=plan.drift_ppm,
        margin_ns=plan.margin_ns,
        deadline_ns=plan.election_ns * terms.patience_ppm // PPM,
        nap_ns=terms.nap_ns,
        grant_ns=terms.grant_ns,
    )


def convicted(
    plan: Plan, violation: Violation | None, oracles: Sequence[OracleResult], timelines: Timelines | None
) -> tuple[Conviction, ...]:
    """Return what is convicted: for the history's proof, or else for what oracles found."""
    rules = owed(plan)
    if rules is None or not timelines:
        return ()
    incidents = of_history(violation, timelines) if violation is not None else []
    said = convict(timelines, rules, [*incidents, *of_findings(oracles, timelines)])
    if any(told.kind == fencing.KIND and told.outcome is OracleOutcome.VIOLATION for told in oracles):
        known = (each for each in said if each.certainty is not Certainty.UNKNOWN)
        said = (*known, *map(of_breach, fence_breaches(timelines)))
    catalog = find(plan.target).mistakes
    return tuple(_of_the_catalog(each, catalog) for each in said)


def _of_the_catalog(conviction: Conviction, catalog: Mapping[str, Mistake]) -> Conviction:
    """Leave out the look-alikes that the target's catalog does not have."""
    known = tuple(name for name in conviction.looks_like if name in catalog)
    return msgspec.structs.replace(conviction, looks_like=known)


def rules_of(convictions: Iterable[Conviction]) -> tuple[str, ...]:
    """Return the ids of the rules that are broken for certain."""
    certain = (each.rules[0] for each in convictions if each.certainty is Certainty.CERTAIN)
    return tuple(dict.fromkeys(certain))


def only_known(told: Mapping[str, Any], known: Collection[str]) -> bool:
    """Tell of a verdict's JSON whether all that was convicted are rules that are known to be broken.

    A conviction that cannot name its rule is of none that is known.
    """
    broken = [set(each["rules"]) for each in told["convictions"]]
    return bool(broken) and all(rules and rules <= set(known) for rules in broken)


def as_json(convictions: Sequence[Conviction]) -> dict[str, Any]:
    """Return what ``--json`` and verdict.json say of rules."""
    told = [msgspec.to_builtins(each, enc_hook=str) for each in convictions]
    return {"rules": list(rules_of(convictions)), "convictions": told}
