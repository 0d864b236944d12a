"""A run's violation brought before the rules: what its policy owes, and what the evidence convicts.

The plan's mistakes and the rules that it switches off are not looked at: what is convicted here is
convicted by what the nodes wrote. Only as a hint do names of the catalog stand beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from checker.conviction import Certainty, Conviction, Owed, convict
from checker.conviction.owed import PPM
from targets.catalog import mode, unrun

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from checker.oracles.result import OracleResult
    from checker.timeline import Timelines
    from checker.verdict import Violation
    from harness.plan.plan import Plan
    from targets.target import Mistake


def owed(plan: Plan) -> Owed | None:
    """Return what evidence of a run of this plan can be held against; None if there is nothing."""
    terms = mode(plan.target, plan.policy).terms
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
    catalog = unrun(plan.target, plan.policy).mistakes
    said = convict(timelines, rules, violation=violation, oracles=oracles)
    return tuple(_of_the_catalog(each, catalog) for each in said)


def _of_the_catalog(conviction: Conviction, catalog: Mapping[str, Mistake]) -> Conviction:
    """Leave out the look-alikes that the target's catalog does not have."""
    known = tuple(name for name in conviction.looks_like if name in catalog)
    return msgspec.structs.replace(conviction, looks_like=known)


def rules_of(convictions: Iterable[Conviction]) -> tuple[str, ...]:
    """Return the ids of the rules that are broken for certain."""
    certain = (each.rules[0] for each in convictions if each.certainty is Certainty.CERTAIN)
    return tuple(dict.fromkeys(certain))


def broken_by(told: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the rules of each conviction that a verdict's JSON has."""
    return tuple(tuple(each["rules"]) for each in told["convictions"])


def only_known(broken: Iterable[Collection[str]], known: Collection[str]) -> bool:
    """Tell of convictions, by their rules, whether all are of rules that are known to be broken.

    A conviction that cannot name its rule is of none that is known.
    """
    each = [set(rules) for rules in broken]
    return bool(each) and all(rules and rules <= set(known) for rules in each)


def why_not_known(broken: Iterable[Collection[str]], known: Collection[str]) -> str | None:
    """Say of a violation, by its convictions, what of it is known and what is not.

    None where all of it is, or nothing is known at all.
    """
    broken = tuple(broken)
    if not known or only_known(broken, known):
        return None
    rules = tuple(dict.fromkeys(rule for each in broken for rule in each))
    seen = [rule for rule in rules if rule in known]
    others = [rule for rule in rules if rule not in known]
    if not rules:
        return "no rule is convicted"
    if not seen:
        return f"{_are(others)} not known"
    return f"{_are(seen)} known, " + (f"{_are(others)} not" if others else "and the rest has no rule")


def _are(rules: Sequence[str]) -> str:
    listed = " and ".join(filter(None, (", ".join(rules[:-1]), rules[-1])))
    return f"{listed} {'is' if len(rules) == 1 else 'are'}"


def as_json(convictions: Sequence[Conviction]) -> dict[str, Any]:
    """Return what ``--json`` and verdict.json say of rules."""
    told = [msgspec.to_builtins(each, enc_hook=str) for each in convictions]
    return {"rules": list(rules_of(convictions)), "convictions": told}
