"""What a diagnosis is made of: causes, the figures that speak for one, findings, the whole."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Cause(StrEnum):
    """Why conversions got slower, or why there is nothing to say. The values are part of `--json`."""

    LARGER_INPUTS = "larger_inputs"
    QUEUEING = "queueing"
    CPU_CONTENTION = "cpu_contention"
    THREAD_OVERSUBSCRIPTION = "thread_oversubscription"
    MEMORY_GROWTH = "memory_growth"
    PAGING = "paging"
    COLD_STARTS = "cold_starts"
    SLOW_DECODE = "slow_decode"
    SLOW_ENCODE = "slow_encode"
    SLOW_S3 = "slow_s3"
    CACHE_MISSES = "cache_misses"
    SLOWER_STYLE = "slower_style"
    FEWER_CPUS = "fewer_cpus"
    UNEXPLAINED = "unexplained"
    NO_CHANGE = "no_change"
    NOT_ENOUGH_DATA = "not_enough_data"

    @property
    def words(self) -> str:
        return {"cpu_contention": "CPU contention", "slow_s3": "slow S3", "fewer_cpus": "fewer CPUs"}.get(
            self, self.replace("_", " ")
        )


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured figure before and during a change; `before` is None where it has been so all along.

    Texts (a format, a precision) are figures too; their `unit` is empty.
    """

    name: str
    during: float | str | None
    before: float | str | None = None
    unit: str = ""

    @property
    def change(self) -> float | None:
        """0.5 for half as much again; None where that has no meaning."""
        if isinstance(self.before, float | int) and isinstance(self.during, float | int) and self.before > 0:
            return self.during / self.before - 1
        return None


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause with its evidence.

    `added_ms` is what it adds to a mean conversion of the whole log's traffic while it lasts, `slower` that over
    what they would take without it, `share` that of the whole slowdown, from 0 to 1. `since` is None where it
    was so all along, `until` where it still is at the log's end. `environments` are those that show it, of `of`
    in all.
    """

    cause: Cause
    what: str
    stage: str | None
    added_ms: float
    slower: float
    evidence: tuple[Figure, ...]
    cure: str
    since: datetime | None = None
    until: datetime | None = None
    environments: tuple[str, ...] = ()
    of: int = 0
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`causes` are ranked (verdict.py says how); `notes` are what is no cause, but worth knowing.

    `unexplained` is by how much conversions take longer though no cause was found: 0.5 for half as long again, 0
    where it is not worth a word.
    """

    cause: Cause
    causes: tuple[Finding, ...]
    conversions: int
    refused: int
    failed: int
    environments: int
    since: datetime | None
    until: datetime | None
    unexplained: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def slow(self) -> bool:
        """Whether there is something to cure."""
        return bool(self.causes)

    def as_dict(self) -> dict[str, Any]:
        """What `--json` prints; times as ISO 8601 in UTC, durations in ms."""
        return {
            "cause": str(self.cause),
            "conversions": self.conversions,
            "refused": self.refused,
            "failed": self.failed,
            "environments": self.environments,
            "since": _iso(self.since),
            "until": _iso(self.until),
            "causes": [_finding(one) for one in self.causes],
            "unexplained": round(self.unexplained, 3),
            "notes": list(self.notes),
        }


def _finding(found: Finding) -> dict[str, Any]:
    return {
        "cause": str(found.cause),
        "what": found.what,
        "share": round(found.share, 3),
        "added_ms": round(found.added_ms, 2),
        "slower": round(found.slower, 3),
        "since": _iso(found.since),
        "until": _iso(found.until),
        "stage": found.stage,
        "environments": list(found.environments),
        "of_environments": found.of,
        "evidence": list(_figures(found.evidence)),
        "cure": found.cure,
    }


def _figures(figures: Iterable[Figure]) -> Iterable[dict[str, Any]]:
    for figure in figures:
        before, during = (_rounded(value) for value in (figure.before, figure.during))
        yield {"name": figure.name, "unit": figure.unit, "before": before, "during": during}


def _rounded(value: float | str | None) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _iso(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
