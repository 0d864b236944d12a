"""A node's metrics, as Prometheus reads them: names and types here, numbers from where they are kept.

Everything is read when somebody asks: gauges from the core's state with a fresh reading of the clocks,
counters from the `Tally` of what the node told. Names follow Prometheus' rules: base units, ``_total``
for counters. Labels are few and their values come from closed lists. A policy without leases grants
none, and a node that hears no time service shows no uncertainty.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from targets.cluster import Role

from .tally import STALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .buckets import Buckets
    from .core import CoreFigures, CoreStatus
    from .tally import Tally

KINDS: Final = ("renew", "oneshot", "log")
RESULTS: Final = ("granted", "refused_lease", "refused_log", "refused_term", "refused_voted")
PATHS: Final = ("lease", "readindex", "log", "follower", "rejected")
REJECTIONS: Final = ("not_leader", "lease_expired", "no_quorum", "apply_timeout", "not_ready")
ANOMALIES: Final = ("wall_backward", "wall_forward", "boottime_gap")
"""What is shown even while it is 0, so that a rate can be taken from the beginning."""

CLOCK: Final = "clock"
REVOCATIONS: Final = {
    "term": "term_change",
    "quorum": "expired",
    "transfer": "transfer",
    "config": "config",
    "stuck": "stuck",
    "stall": "pause",
    "wall-forward": CLOCK,
    "wall-backward": CLOCK,
    "boottime-gap": CLOCK,
}
"""Why leases are dropped, by the reason a node states."""
FAILURES: Final = {
    **REVOCATIONS,
    "timeout": "timeout",
    "term": "term",
    "quorum": "no_quorum",
    "stall": CLOCK,
}
"""Why renewals came to nothing, likewise."""
STEP_DOWNS: Final = ("term", "quorum", "config", "stuck")


class Sample:
    """What one answer is made of."""

    def __init__(
        self,
        tally: Tally,
        status: CoreStatus,
        figures: CoreFigures,
        *,
        rate_ratio: float,
        policy: str,
    ) -> None:
        self.tally = tally
        self.status = status
        self.figures = figures
        self.rate_ratio = rate_ratio
        self.policy = policy


def exposition(sample: Sample) -> str:
    """Return every metric in Prometheus' text format."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Node(sample))
    return generate_latest(registry).decode()


class _Node(Collector):
    def __init__(self, sample: Sample) -> None:
        self._sample = sample

    def describe(self) -> list[Metric]:
        """Name nothing beforehand: the registry is asked once and dropped."""
        return []

    def collect(self) -> Iterator[Metric]:
        yield from self._lease()
        yield from self._votes_and_terms()
        yield from self._reads()
        yield from self._clocks()
        tally = self._sample.tally
        yield _counter("leasekv_fencing_rejections", "Writes refused for an old token.", tally.fenced)
        yield _gauge("leasekv_fencing_max_token", "The greatest token accepted.", tally.token_max)
        build = GaugeMetricFamily("leasekv_build_info", "What runs here.", labels=["version", "policy"])
        build.add_metric([_version(), self._sample.policy], 1)
        yield build

    def _lease(self) -> Iterator[Metric]:
        tally, status = self._sample.tally, self._sample.status
        left_ns = status.lease_remaining_ns
        yield _gauge(
            "leasekv_lease_remaining_seconds",
            "What is left of the leader's lease on its own clock; 0 where there is none.",
            (left_ns or 0) / 1e9,
        )
        yield _gauge(
            "leasekv_lease_valid", "Whether this node would read by its lease now.", left_ns is not None
        )
        yield _counters(
            "leasekv_lease_grants", "Leases granted or renewed.", "kind", tally.grants, KINDS
        )
        yield _histogram(
            "leasekv_lease_renew_duration_seconds",
            "From the send of what asked for a lease to the acknowledgement of a majority.",
            tally.renew_seconds,
        )
        yield _counters(
            "leasekv_lease_renew_failures",
            "Rounds and requests for a lease that never had a majority.",
            "reason",
            _renamed(tally.renew_failures, FAILURES),
            FAILURES.values(),
        )
        yield _counters(
            "leasekv_lease_revocations",
            "Leases dropped, or closed, by their holder.",
            "reason",
            _renamed(tally.revocations, REVOCATIONS),
            REVOCATIONS.values(),
        )
        yield _gauge(
            "leasekv_promise_remaining_seconds",
            "How long this node still helps nobody depose its leader.",
            self._sample.figures.promise_remaining_ns / 1e9,
        )

    def _votes_and_terms(self) -> Iterator[Metric]:
        tally, status = self._sample.tally, self._sample.status
        yield _counters(
            "leasekv_votes", "Votes answered, pre-votes apart.", "result", tally.votes, RESULTS
        )
        yield _gauge("leasekv_term", "The current term.", status.term)
        yield _gauge("leasekv_is_leader", "Whether this node leads.", status.role is Role.LEADER)
        yield _counter("leasekv_term_changes", "Moves to a higher term.", tally.term_changes)
        yield _counter("leasekv_leader_changes", "Leaders seen, one a term.", tally.leader_changes)
        yield _counters(
            "leasekv_step_downs",
            "Leaderships of this node that ended.",
            "reason",
            _renamed(tally.step_downs, REVOCATIONS),
            [REVOCATIONS[reason] for reason in STEP_DOWNS],
        )
        yield _gauge("leasekv_commit_index", "The last entry known committed.", status.commit_index)
        yield _gauge("leasekv_applied_index", "The last entry applied.", status.applied_index)
        yield _gauge(
            "leasekv_apply_lag_entries",
            "Entries committed and not applied.",
            status.commit_index - status.applied_index,
        )

    def _reads(self) -> Iterator[Metric]:
        tally, figures = self._sample.tally, self._sample.figures
        rejected = {code.value.lower(): count for code, count in figures.rejected.items()}
        yield _counters(
            "leasekv_reads",
            "Reads answered, by path.",
            "path",
            {**tally.reads, "rejected": sum(rejected.values())},
            PATHS,
        )
        yield _counters("leasekv_read_rejections", "Reads refused.", "reason", rejected, REJECTIONS)
        durations = HistogramMetricFamily(
            "leasekv_read_duration_seconds", "From a read's arrival to its answer.", labels=["path"]
        )
        for path, buckets in sorted(tally.read_seconds.items()):
            durations.add_metric([path], *_cumulated(buckets))
        yield durations
        yield _histogram(
            "leasekv_readindex_round_duration_seconds",
            "From the send of a round that reads waited for to its majority.",
            tally.round_seconds,
        )
        yield _histogram(
            "leasekv_readindex_batch_size", "Reads confirmed by one round.", tally.batch_sizes
        )
        yield _histogram(
            "leasekv_apply_wait_seconds",
            "How long reads waited for the state machine to reach their index.",
            figures.waited_s,
        )

    def _clocks(self) -> Iterator[Metric]:
        tally, figures = self._sample.tally, self._sample.figures
        yield _counter("leasekv_pauses", "Stalls of this process.", sum(tally.stall_seconds.counts))
        yield _histogram("leasekv_pause_duration_seconds", "How long they were.", tally.stall_seconds)
        anomalies = {
            kind.replace("-", "_"): count for kind, count in tally.anomalies.items() if kind != STALL
        }
        yield _counters(
            "leasekv_clock_anomalies",
            "Steps of the wall clock and suspensions, each of which voided a lease.",
            "kind",
            anomalies,
            ANOMALIES,
        )
        if figures.uncertain_ns is not None:
            yield _gauge(
                "leasekv_clock_uncertainty_seconds",
                "Half the span that the time is known to be in.",
                figures.uncertain_ns / 1e9,
            )
        yield _gauge(
            "leasekv_clock_rate_ratio",
            "How fast the monotonic clock ran against the raw one, since the last scrape.",
            self._sample.rate_ratio,
        )


@cache
def _version() -> str:
    try:
        return metadata.version("lantern-chaos")
    except metadata.PackageNotFoundError:  # a node in a container runs from its sources
        return "source"


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(name, about, value=float(value))


def _counter(name: str, about: str, value: int) -> Metric:
    return CounterMetricFamily(name, about, value=float(value))


def _counters(
    name: str, about: str, label: str, values: Mapping[str, int], words: Iterable[str]
) -> Metric:
    family = CounterMetricFamily(name, about, labels=[label])
    for word, count in sorted({**dict.fromkeys(words, 0), **values}.items()):
        family.add_metric([word], float(count))
    return family


def _histogram(name: str, about: str, buckets: Buckets) -> Metric:
    cumulated, total = _cumulated(buckets)
    return HistogramMetricFamily(name, about, buckets=cumulated, sum_value=total)


def _cumulated(buckets: Buckets) -> tuple[list[tuple[str, float]], float]:
    bounds = [*(f"{float(bound)!r}" for bound in buckets.bounds), "+Inf"]
    counts = [float(count) for count in accumulate(buckets.counts)]
    return list(zip(bounds, counts, strict=True)), buckets.sum


def _renamed(values: Mapping[str, int], names: Mapping[str, str]) -> dict[str, int]:
    named: dict[str, int] = {}
    for reason, count in values.items():
        name = names[reason]
        named[name] = named.get(name, 0) + count
    return named
