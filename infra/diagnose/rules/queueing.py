"""More conversions than slots, or CPUs, can take."""

from __future__ import annotations

import numpy as np
import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import Floats
from infra.diagnose.evidence import MEASURED, figure, finding, standing
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows, Split

LEAST = 0.3  # of a conversion: waiting for less is the last one's end, which any traffic meets
LONG = 5.0  # conversions' time, at the mean: clients that take turns wait for one another, as many as they are
BRIEF_S = 10.0  # a queue that came and went within seconds is what arrivals by chance make
PAIR, MORE = (
    1.0,
    0.2,
)  # of a conversion, and of requests: without more of them, waiting for less is coming in pairs
REFUSED, TIMES_REFUSED = 0.05, 5  # of all requests, and at least so many
FILL = 1e-3  # keeps a logarithm from zero

WAITED, ITSELF, REQUESTS = "wait for a slot", "conversion itself", "requests"
CURE = (
    "Add capacity: more processes or machines behind a load balancer, on Lambda more environments (reserved "
    "concurrency, account limit), or put an SQS queue before it. MAX_CONCURRENCY helps only up to the vCPUs, "
    "with NUM_THREADS lowered to match; MAX_QUEUE only decides how many wait before others get `busy`."
)


def queueing(log: Log) -> Finding | None:
    """Conversions wait for a slot, or share the CPUs with others of the same process.

    How many a conversion waits for is what counts: the same queue takes longer where each conversion does. It also
    gets longer when conversions get slower for any other reason: whoever weighs the findings (verdict.py)
    asks whether arrivals rose. Without a time of short queues, waiting for two others at the mean is long, and
    so is a queue that is full again and again (`busy`).
    """
    rows = log.made.known("waited", "service")
    split = rows.split("waited")
    if split and split.until and (split.until - split.since).total_seconds() < BRIEF_S:
        split = None
    if split and split.during.average("waited") >= LEAST * split.during.mean("service"):
        return _more(log, split)
    return _all_along(log, rows)


def _more(log: Log, split: Split) -> Finding | None:
    before, during = (_per_minute(log, part) for part in (split.before, split.during))
    if during < (1 + MORE) * before and length(split.during) < PAIR and not refused(log, split.during):
        return None
    return finding(
        log,
        split,
        Cause.QUEUEING,
        (length(split.during) - length(split.before)) * split.during.mean("service"),
        MEASURED,
        shows="waited",
        what="conversions wait for a free slot",
        stage="queue",
        evidence=(
            figure(split, WAITED, "waited", "ms"),
            figure(split, ITSELF, "service", "ms"),
            Figure(REQUESTS, during, before, "per minute"),
            Figure("refused as busy", refused(log, split.during), refused(log, split.before)),
        ),
        cure=CURE,
    )


def _all_along(log: Log, rows: Rows) -> Finding | None:
    requests = len(log.good) + len(log.refused)
    full = len(log.refused) >= max(TIMES_REFUSED, REFUSED * requests)
    wait = rows.average("waited")
    if not (full or wait >= LONG * rows.mean("service")):
        return None
    return standing(
        log,
        rows,
        Cause.QUEUEING,
        wait if wait == wait else 0.0,
        what="conversions wait for a free slot",
        stage="queue",
        evidence=(
            Figure(WAITED, wait, unit="ms"),
            Figure(ITSELF, rows.mean("service"), unit="ms"),
            Figure("refused as busy", float(len(log.refused)), unit=f"of {requests:,} requests"),
        ),
        cure=CURE,
    )


def length(rows: Rows) -> float:
    """How many conversions' time a conversion waits."""
    return rows.mean("waited") / max(rows.mean("service"), FILL)


def refused(log: Log, part: Rows) -> float:
    return float(len(_meanwhile(log.refused, part)))


def _per_minute(log: Log, part: Rows) -> float:
    """Requests over the time in which they came: a line is written at the end, so what it took is taken off."""
    requests = _meanwhile(log.conversions, part)
    came = np.sort(_came(requests))
    seconds = (came[-1] - came[0]) / 1000 if len(came) else 0.0
    return 60 * (len(came) - 1) / max(seconds, FILL)


def _came(rows: Rows) -> Floats:
    return rows.frame["at"].dt.epoch("ms").to_numpy().astype(np.float64) - rows["latency"]


def _meanwhile(rows: Rows, part: Rows) -> Rows:
    return rows.where(pl.col("at").is_between(part.at(0), part.at(len(part) - 1)))
