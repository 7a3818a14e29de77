"""S3 that takes longer to give photos, or to take pictures."""

from __future__ import annotations

import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import LEAST
from infra.diagnose.evidence import MEASURED, figure, finding, standing
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows, Split

# For a log without a better time. S3 answers a small request in 100 to 200 ms (Amazon S3 User Guide, "Optimizing
# performance"), of which a conversion makes up to three; and a function gets tens of megabytes a second.
SLOW_MS = 1000.0
BYTES_PER_MS = 10_000.0
MOST_OF_IT = 0.5  # of what a conversion takes

CURE = (
    "Put function and bucket into the same region, and reach S3 through a gateway endpoint if the function is "
    "in a VPC (without one, it is a NAT gateway's bandwidth). Look for SlowDown answers and other users of the "
    "bucket; a function under 1,769 MB has a smaller share of the network."
)


def slow_s3(log: Log) -> Finding | None:
    """Getting or putting objects takes longer than their bytes explain.

    Time in proportion to bytes is what photos cost, not S3, so that much is taken off. The first conversion of an
    environment is left out: it opens the connection. Without a time when it was better, only what nobody should
    see counts: over a second, beyond a slow transfer, and most of a conversion.
    """
    rows = log.good.where(~pl.col("cold_start").fill_null(False)).known("s3")
    rows = rows.with_column("moved", pl.col("input_bytes").fill_null(0) + pl.col("output_bytes").fill_null(0))
    split = rows.split("s3")
    if not split:
        return _all_along(log, rows)
    more_bytes = max(1.0, split.ratio("moved"))
    return finding(
        log,
        split,
        Cause.SLOW_S3,
        split.during.mean("s3") - split.before.mean("s3") * more_bytes,
        MEASURED,
        shows="s3",
        what="S3 answers more slowly",
        stage=_stage(split),
        evidence=(
            figure(split, "S3 get", "s3_get", "ms"),
            figure(split, "S3 put", "s3_put", "ms"),
            figure(split, "bytes of photo and picture", "moved", "bytes"),
            figure(split, "conversion without S3", "service", "ms"),
        ),
        cure=CURE,
    )


def _all_along(log: Log, rows: Rows) -> Finding | None:
    took = rows.mean("s3") if len(rows) >= 2 * LEAST else 0.0
    beyond = took - rows.mean("moved") / BYTES_PER_MS
    if not (beyond >= SLOW_MS and took >= MOST_OF_IT * rows.mean("latency")):
        return None
    return standing(
        log,
        rows,
        Cause.SLOW_S3,
        beyond,
        what="S3 takes most of a conversion's time",
        stage="s3_get" if rows.mean("s3_get") >= rows.mean("s3_put") else "s3_put",
        evidence=(
            Figure("S3 get", rows.mean("s3_get"), unit="ms"),
            Figure("S3 put", rows.mean("s3_put"), unit="ms"),
            Figure("conversion without S3", rows.mean("service"), unit="ms"),
        ),
        cure=CURE,
    )


def _stage(split: Split) -> str:
    more = {name: split.during.mean(name) - split.before.mean(name) for name in ("s3_get", "s3_put")}
    return max(more, key=lambda name: more[name] if more[name] == more[name] else 0.0)
