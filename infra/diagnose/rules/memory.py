"""Memory that grows with each conversion."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import Floats, rises
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows

LEAST = 30  # conversions of one environment
GROWN_MIB, GROWN = 16.0, 0.04  # at least this much, and this share of what it was: allocators do less
PARTS = 8  # of the conversions, whose medians are compared
STEADY = 0.3  # of the mean growth, in all steps between them but one: larger photos make steps, a leak a slope
KEPT_PER_PICTURE = 2048  # bytes of a kept picture beside its own (handler/cache.py)
MIB = 1024 * 1024
LOOKED_AT = 2000  # conversions of one environment, evenly spread

CURE = (
    "Replace the processes (a deployment, or `animegan serve` anew) before memory is full, and look for what is "
    "kept: kept pictures are bounded by CACHE_BYTES and taken off here, and photos' sizes make steps, not "
    "slopes. `animegan bench soak` shows whether conversions alone do it; preload tcmalloc (as the image does) "
    "if it is the allocator."
)


def memory_growth(log: Log) -> Finding | None:
    """The memory of an environment rises with each conversion and does not come to rest.

    Larger photos and new shapes raise it in steps, after which it is flat; kept pictures raise it by what they
    take, which is known. A leak goes on: over almost every quarter of the conversions there is growth, to the
    last. It is told though nothing is slower yet: it ends with paging, or with a process that is killed.
    """
    long = _long(log.good.known("memory"))
    grown = [(rows.environments[0], _growth(rows, 2 * len(long))) for rows in long]
    leaking = [(name, growth) for name, growth in grown if growth]
    if not leaking:
        return None
    growth = max((growth for _, growth in leaking), key=lambda one: one.per_conversion)
    return Finding(
        Cause.MEMORY_GROWTH,
        what="memory grows with each conversion",
        stage=None,
        added_ms=0.0,
        slower=0.0,
        evidence=growth.figures(),
        cure=CURE,
        since=growth.since,
        environments=tuple(name for name, _ in leaking),
        of=len(log.conversions.environments),
    )


@dataclass(frozen=True, slots=True)
class Growth:
    """Of one environment, in MiB; `limit` is the memory that it may have, where the log says so."""

    since: datetime
    first: float
    last: float
    per_conversion: float
    limit: float

    def figures(self) -> tuple[Figure, ...]:
        known = self.limit == self.limit
        left = max(0.0, self.limit - self.last) / self.per_conversion
        return (
            Figure("memory used", self.last, self.first, "MiB"),
            Figure("growth", self.per_conversion, unit="MiB per conversion"),
            *([Figure("conversions until memory is full", left)] if known else []),
        )


def _long(rows: Rows) -> list[Rows]:
    """The conversions of each environment that has enough of them."""
    columns = rows.frame.select("at", "environment", "memory", "memory_size", "cache", "output_bytes")
    enough = columns.filter(pl.len().over("environment") >= LEAST)
    return [Rows(part) for part in enough.partition_by("environment", maintain_order=True)]


def _growth(rows: Rows, tries: int) -> Growth | None:
    """Over all of an environment's conversions, or over the later half: it can have begun in between.

    What goes up and down looks like growth in one environment of many, so chance is asked for all `tries`.
    """
    for begin in (0, len(rows) // 2):
        if (part := rows.slice(begin, len(rows))) and len(part) >= LEAST:
            step = max(1, len(part) // LOOKED_AT)
            memory = _own(part)[::step]
            if rises(memory, tries) and (found := _steady(part, memory)):
                return found
    return None


def _own(rows: Rows) -> Floats:
    """Memory without what kept pictures can take: each miss may have been kept."""
    missed = (rows.frame["cache"] == "miss").fill_null(False).to_numpy()
    kept = np.where(missed, np.nan_to_num(rows["output_bytes"]) + KEPT_PER_PICTURE, 0.0)
    return np.asarray(rows["memory"] - np.cumsum(kept) / MIB, np.float64)


def _steady(rows: Rows, memory: Floats) -> Growth | None:
    levels = np.array([np.median(part) for part in np.array_split(memory, PARTS)])
    steps = np.diff(levels)
    growth = float(levels[-1] - levels[0]) * PARTS / (PARTS - 1)
    if growth < max(GROWN_MIB, GROWN * memory[0]) or (steps < STEADY * steps.mean()).sum() > 1:
        return None
    measured = rows["memory"]
    edge = max(1, len(measured) // 20)
    first, last = float(np.median(measured[:edge])), float(np.median(measured[-edge:]))
    return Growth(rows.at(0), first, last, growth / len(rows), rows.median("memory_size"))
