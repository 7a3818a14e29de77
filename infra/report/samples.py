"""What the plots show, made small: a page has room for some thousand points, a log has a million lines.

Bins are means or percentiles of all that is in them, and points are drawn at random; none is picked for its looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import polars as pl

from infra.report.figures import STAGES

MOST_BINS = 60
MOST_POINTS = 1500
MOST_STYLES = 5
MOST_ENVIRONMENTS = 8
POINTS_EACH = 120  # of an environment
FEW = 30  # conversions, below which percentiles by size say nothing
MOST_BINS_BY_SIZE = 15
STEPS = {  # Polars' words for lengths of time
    "1s": timedelta(seconds=1),
    "5s": timedelta(seconds=5),
    "15s": timedelta(seconds=15),
    "1m": timedelta(minutes=1),
    "5m": timedelta(minutes=5),
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "3h": timedelta(hours=3),
    "6h": timedelta(hours=6),
    "1d": timedelta(days=1),
    "1w": timedelta(weeks=1),
    "1mo": timedelta(days=31),
    "1q": timedelta(days=92),
}
WELL = (pl.col("event") == "conversion") & pl.col("error").is_null()


@dataclass(frozen=True, slots=True)
class Binned:
    """One row per bin that has conversions, at its beginning."""

    rows: pl.DataFrame
    step: str

    @property
    def width(self) -> timedelta:
        return STEPS[self.step]


@dataclass(frozen=True, slots=True)
class Sampled:
    """`shown` of `all` there are."""

    rows: pl.DataFrame
    shown: int
    all: int


def converted(frame: pl.DataFrame) -> pl.DataFrame:
    """Conversions that went well and were made, not taken from the cache."""
    made = pl.col("cache").is_null() | (pl.col("cache") != "hit")
    columns = ("at", "style", "environment", "duration", "output_pixels", "memory", *STAGES)
    return frame.lazy().filter(WELL & made).select(columns).with_columns(pl.col("queue").fill_null(0.0)).collect()


def stages_over_time(frame: pl.DataFrame) -> Binned:
    """Mean ms of each stage, and of what is in none as `other`. Columns: at, STAGES, other."""
    step = _step(frame)
    means = [pl.col(name).cast(pl.Float64).fill_null(0).mean() for name in (*STAGES, "duration")]
    rows = frame.group_by(pl.col("at").dt.truncate(step)).agg(means).sort("at")
    rest = pl.col("duration") - pl.sum_horizontal(STAGES)
    return Binned(rows.with_columns(other=rest.clip(lower_bound=0)), step)


def queue_and_inference(frame: pl.DataFrame) -> Binned:
    """Columns: at, and p50 and p90 in ms of both."""
    step = _step(frame)
    rows = frame.group_by(pl.col("at").dt.truncate(step)).agg(
        pl.col(name).quantile(share, "linear").alias(f"{name}_{label}")
        for name in ("queue", "inference")
        for label, share in (("p50", 0.5), ("p90", 0.9))
    )
    return Binned(rows.sort("at"), step)


def latency(frame: pl.DataFrame) -> Sampled:
    """Columns: megapixels (of the picture), duration, style (all but the most frequent are null)."""
    known = frame.filter(pl.col("output_pixels") > 0, pl.col("duration") > 0)
    kept = known["style"].value_counts(sort=True).head(MOST_STYLES)["style"]
    rows = known.sample(min(MOST_POINTS, known.height), seed=0).select(
        megapixels=pl.col("output_pixels") / 1e6,
        duration=pl.col("duration"),
        style=pl.when(pl.col("style").is_in(kept.implode())).then(pl.col("style").cast(pl.String)),
    )
    return Sampled(rows, rows.height, known.height)


def latency_by_size(frame: pl.DataFrame) -> pl.DataFrame:
    """Of all conversions, in bins of about as many each. Columns: megapixels (their mean), p50, p90 in ms."""
    known = frame.filter(pl.col("output_pixels") > 0).select("output_pixels", "duration")
    share = pl.col("output_pixels").rank("average") / pl.len()
    count = max(1, min(MOST_BINS_BY_SIZE, known.height // (FEW + 10)))
    bins = known.group_by((share * count).ceil().alias("bin")).agg(
        megapixels=pl.col("output_pixels").cast(pl.Float64).mean() / 1e6,
        p50=pl.col("duration").quantile(0.5, "linear"),
        p90=pl.col("duration").quantile(0.9, "linear"),
        conversions=pl.len(),
    )
    return bins.filter(pl.col("conversions") >= FEW).sort("megapixels")


def memory(frame: pl.DataFrame) -> Sampled:
    """The most memory in each run of conversions. Columns: environment, nth (conversion in it), memory.

    Of the environments with the most conversions; `shown` and `all` count environments.
    """
    named = frame.filter(pl.col("memory").is_not_null()).select("environment", "memory")
    counts = named["environment"].value_counts(sort=True)
    kept = counts.head(MOST_ENVIRONMENTS)["environment"]
    some = named.filter(pl.col("environment").is_in(kept.implode(), nulls_equal=True))
    nth = some.with_columns(nth=pl.int_range(pl.len()).over("environment") + 1)
    run = (pl.col("nth") - 1) // (1 + (pl.len().over("environment") - 1) // POINTS_EACH)
    rows = nth.group_by("environment", run.alias("run")).agg(pl.col("nth").max(), pl.col("memory").max())
    return Sampled(rows.sort("environment", "run").drop("run"), kept.len(), counts.height)


def _step(frame: pl.DataFrame) -> str:
    """The shortest that makes no more than MOST_BINS."""
    span = frame["at"][-1] - frame["at"][0]
    return next((name for name, length in STEPS.items() if span / length < MOST_BINS), list(STEPS)[-1])
