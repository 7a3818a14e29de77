"""From a split to a finding: how much slower, and is that enough to speak of."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows, Split

How = Literal["mean", "average", "median"]

# Least by which conversions must be slower for a cause, as a share of what they would take without it.
EXPLAINED = 0.05  # what was asked for is different (sizes, formats): the log says so without a doubt
MEASURED = 0.15  # only the times are different; machines vary by themselves

FASTEST = 0.1  # ms that any answer takes, kept pictures too: a share is of something

WAIT = "caller's wait"


def figure(split: Split, name: str, column: str, unit: str = "", how: How = "mean") -> Figure:
    before, during = (getattr(part, how)(column) for part in (split.before, split.during))
    return Figure(name, during, before, unit)


def percent(split: Split, name: str, condition: pl.Expr) -> Figure:
    return Figure(name, 100 * split.during.share(condition), 100 * split.before.share(condition), "%")


def finding(
    log: Log,
    split: Split,
    cause: Cause,
    added: float,
    least: float,
    shows: str,
    evidence: tuple[Figure, ...],
    how: How = "mean",
    **said: Any,
) -> Finding | None:
    """`added` is in ms per conversion of the split; None where it makes them slower by less than `least`.

    `shows` is the column by which environments are told apart, `how` says whether a tenth at each end counts.
    """
    base = max(getattr(split.during, how)("latency") - added, FASTEST)
    if not added / base >= least:  # NaN too
        return None
    return Finding(
        cause,
        added_ms=added * _weight(log, split),
        slower=added / base,
        since=split.since,
        until=split.until,
        environments=split.showing(shows),
        of=len(log.conversions.environments),
        evidence=(figure(split, WAIT, "latency", "ms", how), *evidence),
        **said,
    )


def standing(log: Log, rows: Rows, cause: Cause, added: float, how: How = "mean", **said: Any) -> Finding:
    """A finding of a whole log, which has no time without it."""
    base = max(getattr(rows, how)("latency") - added, FASTEST)
    weight = len(rows) / max(len(log.good), 1)
    environments = rows.environments
    return Finding(
        cause,
        added_ms=added * weight,
        slower=added / base,
        environments=environments,
        of=len(log.conversions.environments),
        **said,
    )


def _weight(log: Log, split: Split) -> float:
    """The share of the split's conversions among all of the same time."""
    until = split.until or log.good.at(len(log.good) - 1)
    meanwhile = log.good.where(pl.col("at").is_between(split.since, until))
    return min(1.0, len(split.during) / max(len(meanwhile), 1))
