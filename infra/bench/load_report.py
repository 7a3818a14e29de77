"""What the load found: a row per arrangement, and verdicts on the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from infra.bench.load import Load, Measured
from infra.bench.queueing import percentile
from infra.bench.table import markdown, pairs
from infra.bench.verdicts import Verdict

WITHIN = 0.05  # of back-to-back conversions, throughput
TOLERANCE = 0.10  # of the prediction, which knows of no time between conversions
EXPLAINED = 0.95  # of what clients wait for, at least, is in the log lines
HEALTH_S = 0.1  # what a load balancer's probe does not mind


@dataclass(frozen=True, slots=True)
class Row:
    """Of one arrangement with all clients. Seconds, but for throughput (pictures a second) and MiB."""

    arrangement: str
    throughput: float
    of_alone: float  # share of what one client got in the same round, the median of the rounds
    p50: float
    p95: float
    predicted_p50: float
    predicted_p95: float
    queued_p50: float
    explained: float
    health_p95: float
    health_max: float
    refused: int
    lost: list[str]
    memory_mib: float


def row(one: Measured, alone: Sequence[float], clients: int, queue: int) -> Row:
    """`alone` is a throughput per round."""
    steady = one.steady()
    waited, expected = [answer.seconds for answer in steady], one.expected(clients, queue)
    together = [phase.throughput() for phase in one.together]
    health = [seconds for phase in one.together for seconds in phase.health] or [0.0]
    return Row(
        arrangement=str(one.arrangement),
        throughput=median(together),
        of_alone=median(many / single for many, single in zip(together, alone, strict=True)),
        p50=median(waited),
        p95=percentile(waited, 95),
        predicted_p50=median(expected),
        predicted_p95=percentile(expected, 95),
        queued_p50=median(map(one.queued, steady)),
        explained=sum(map(one.logged, steady)) / sum(waited),
        health_p95=percentile(health, 95),
        health_max=max(health),
        refused=sum(phase.refused for phase in one.together),
        lost=[why for phase in one.together for why in phase.lost],
        memory_mib=one.memory_mib,
    )


@dataclass(frozen=True, slots=True)
class Report:
    machine: dict[str, str]
    load: Load
    alone: float
    rows: list[Row]

    @classmethod
    def of(cls, machine: dict[str, str], load: Load, found: Sequence[Measured]) -> Report:
        alone = [phase.throughput() for phase in found[0].alone]
        return cls(machine, load, median(alone), [row(one, alone, load.clients, load.queue) for one in found])

    def as_text(self) -> str:
        return f"{pairs(self._facts())}\n\n{self._table()}"

    def verdicts(self) -> list[Verdict]:
        first, lost = self.rows[0], [why for one in self.rows for why in one.lost]
        return [
            Verdict(
                f"throughput is within {WITHIN:.0%} of back-to-back conversions",
                first.of_alone >= 1 - WITHIN,
                f"{first.throughput:.2f} a second, one client {self.alone:.2f}: {first.of_alone:.1%}",
            ),
            Verdict("no request is lost", not lost, "; ".join(lost[:3]) or "none"),
            Verdict(
                f"p95 is at most {TOLERANCE:.0%} above what queueing predicts",
                first.p95 <= first.predicted_p95 * (1 + TOLERANCE),
                f"{_ms(first.p95)} ms, predicted {_ms(first.predicted_p95)}",
            ),
            Verdict(
                f"log lines have {EXPLAINED:.0%} of what clients wait for",
                first.explained >= EXPLAINED,
                f"{first.explained:.1%}, in the median {_ms(first.queued_p50)} of {_ms(first.p50)} ms queued",
            ),
            Verdict(
                f"/health answers in {_ms(HEALTH_S)} ms meanwhile (p95)",
                first.health_p95 <= HEALTH_S,
                f"{_ms(first.health_p95)} ms, at most {_ms(first.health_max)}",
            ),
        ]

    def _facts(self) -> dict[str, str]:
        load = self.load
        phases = f"{load.rounds} rounds of {load.seconds:g} s each, in turns"
        return {**self.machine, "load": f"{load.clients} clients, {load.side}×{load.side} JPEGs, {phases}"}

    def _table(self) -> str:
        columns = ["arrangement", "a second", "of one client", "p50 ms (predicted)", "p95 ms (predicted)"]
        rows = [
            [
                one.arrangement,
                f"{one.throughput:.2f}",
                f"{one.of_alone:.0%}",
                f"{_ms(one.p50)} ({_ms(one.predicted_p50)})",
                f"{_ms(one.p95)} ({_ms(one.predicted_p95)})",
                str(one.refused),
                f"{_ms(one.health_p95)}",
                f"{one.memory_mib:,.0f}",
            ]
            for one in self.rows
        ]
        return markdown([*columns, "told to come back", "/health p95 ms", "MiB"], rows)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.0f}"
