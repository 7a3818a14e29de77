"""What is no cause of slower conversions, but worth knowing beside one."""

from __future__ import annotations

import math

import polars as pl

from infra.diagnose.log import BUSY, Log
from infra.diagnose.rows import Rows, Split
from infra.diagnose.rules.paging import slowdown

FAILED = 0.05  # of the conversions, from which on failures are worth a word
COSTLIER = 1.15  # times the CPU time for the same work; where only the clock ran on, threads waited
UNEXPLAINED = 0.25  # slower at the same work; machines in a cloud differ by as much from hour to hour


def notes(log: Log, unexplained: Split | None) -> tuple[str, ...]:
    return tuple(note for note in (_failed(log), unexplained and _slower(log, unexplained)) if note)


def unexplained(log: Log) -> Split | None:
    """Inference that takes longer for the same work; asked where no rule has found a cause."""
    split = log.warm.split("pace")
    if not split or not slowdown(split) >= UNEXPLAINED * split.before.mean("service"):
        return None
    waited = split.ratio("work") < COSTLIER  # not where CPU times are unknown
    return split if _fewer_cpus(split) or not waited else None


def _failed(log: Log) -> str | None:
    rows = log.conversions.where(pl.col("error").is_not_null() & (pl.col("error") != BUSY))
    if len(rows) < FAILED * max(len(log.conversions), 1) or not len(rows):
        return None
    counts = rows.frame["error"].value_counts().sort("count", "error", descending=[True, False])
    codes = ", ".join(f"{code} {count:,}" for code, count in counts.head(3).iter_rows())
    return f"{len(rows):,} of {len(log.conversions):,} conversions failed ({codes}); they are in no figure here"


def _slower(log: Log, split: Split) -> str:
    return (
        f"since {split.since:%Y-%m-%d %H:%M:%S} UTC inference takes {split.ratio('pace') - 1:.0%} longer per "
        f"megapixel. {_fewer_cpus(split) or _cpu_times(log, split)}"
    )


def _fewer_cpus(split: Split) -> str | None:
    before, during = (part.median("vcpus") for part in (split.before, split.during))
    if not during < before:
        return None
    return (
        f"It has {during:g} vCPUs, which were {before:g} before: MemorySize was lowered on Lambda, where 1,769 MB "
        "are one, or a CPU quota elsewhere"
    )


def _cpu_times(log: Log, split: Split) -> str:
    more = split.ratio("work") - 1
    if math.isnan(more):
        return "Its CPU time is not in the log, so that waiting for CPUs and a slower processor look alike"
    return (
        f"The same work takes {more:.0%} more CPU time. The processor itself is slower: "
        f"{_processors(log, split) or 'a lower clock, or a core and caches that are shared with somebody else'}"
    )


def _processors(log: Log, split: Split) -> str | None:
    """What most environments ran on before and since, where that is known and another."""
    before, since = (_processor(log, part) for part in (split.before, split.during))
    return f"{since}, which was {before} before" if before and since and before != since else None


def _processor(log: Log, part: Rows) -> str | None:
    return log.inits.where(pl.col("environment").is_in(list(part.environments))).usual("processor")
