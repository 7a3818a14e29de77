"""Many conversions that are the first of their environment."""

from __future__ import annotations

import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.evidence import MEASURED, finding, percent, standing
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows

SEEN = 6  # cold starts, at least: a deployment or two bring a few at once, and that is no pattern
# Of conversions: under 1 % is usual on Lambda (AWS Compute Blog, "Operating Lambda: Performance optimization").
# Where it was so all along, only what no traffic should see.
RATE, ALL_ALONG = 0.10, 0.25
TIMES = 3.0  # as often as before

COLD = pl.col("cold_start").fill_null(False)
# One conversion in three says little by itself; that all of them were an environment's of three says much.
BRIEF = -pl.len().over("environment").cast(pl.Float64)
CURE = (
    "Keep environments warm with provisioned concurrency (ProvisionedConcurrency in the template), or call the "
    "function every few minutes (the warm-up event); more memory makes init shorter. Environments that end "
    "after a few conversions point to errors, timeouts or out-of-memory kills, or to traffic in bursts."
)


def cold_starts(log: Log) -> Finding | None:
    """So many conversions begin a new environment that its init phase weighs on the mean.

    A cold conversion costs its init phase, which is in another log line, and being slower itself. What it adds
    is the share of cold ones times that. A log of mostly cold ones has no better time to compare with, so that
    many count as they are.
    """
    rows = log.good.with_column("cold", COLD.cast(pl.Float64)).with_column("brief", BRIEF)
    cold, warm = rows.where(COLD), rows.where(~COLD)
    if len(cold) < SEEN:
        return None
    cost = cold.mean("latency") - (warm.median("latency") if len(warm) else cold.median("service"))
    split = rows.split("cold") or rows.split("brief")
    if not split:
        return _all_along(log, rows, cold, cost)
    rate, before = split.during.average("cold"), split.before.average("cold")
    if len(split.during.where(COLD)) < SEEN or rate < max(RATE, TIMES * before):
        return None
    return finding(
        log,
        split,
        Cause.COLD_STARTS,
        (rate - before) * cost,
        MEASURED,
        shows="cold",
        how="average",
        what="more conversions start a new environment",
        stage="init",
        evidence=(
            percent(split, "cold starts", COLD),
            Figure("a cold start costs", cost, unit="ms"),
        ),
        cure=CURE,
    )


def _all_along(log: Log, rows: Rows, cold: Rows, cost: float) -> Finding | None:
    rate = len(cold) / len(rows)
    found = standing(
        log,
        rows,
        Cause.COLD_STARTS,
        rate * cost,
        how="average",
        what="many conversions start a new environment",
        stage="init",
        evidence=(Figure("cold starts", 100 * rate, unit="%"), Figure("a cold start costs", cost, unit="ms")),
        cure=CURE,
    )
    return found if rate >= ALL_ALONG and found.slower >= MEASURED else None
