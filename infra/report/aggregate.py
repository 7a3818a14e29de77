"""From the table of lines to figures, for all lines at once or for each group of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import polars as pl

from infra.estimate import INVOCATION
from infra.report.figures import PERCENTILES, SPREAD, STAGES, Cost, Figures, Init, Spread

Key: TypeAlias = tuple[Any, ...]
MOST_CODES = 20  # codes of errors told apart; we have fewer, but a log may have been through many hands
OTHERS = "(others)"

CONVERSION, SKIPPED = pl.col("event") == "conversion", pl.col("event") == "skipped"
WELL = CONVERSION & pl.col("error").is_null()
PRICED = pl.col("memory_size").is_not_null()
# The init phase is billed as well, since August 2025 also where the code is a zip file.
BILLED_MS = (pl.col("duration").fill_null(0.0) + pl.col("init").fill_null(0.0)).cast(pl.Float64)

COUNTS = {
    "conversions": CONVERSION.sum(),
    "failed": (CONVERSION & pl.col("error").is_not_null()).sum(),
    "refused": (CONVERSION & (pl.col("error") == "busy")).sum(),
    "skipped": SKIPPED.sum(),
    "cold_starts": pl.col("cold_start").sum(),
    "cache_hits": (pl.col("cache") == "hit").sum(),
    "environments": pl.col("environment").drop_nulls().n_unique(),
    "inits": pl.col("init").count(),
    "max_memory": pl.col("max_memory").max(),
    "gb_seconds": (BILLED_MS / 1000 * pl.col("memory_size") / 1024).sum(),
    "requests": (PRICED & (CONVERSION | SKIPPED)).sum(),
    "priced": PRICED.sum(),
    "unpriced": (CONVERSION & ~PRICED).sum(),
}


def aggregate(frame: pl.DataFrame, by: Sequence[str], gb_second: float) -> dict[Key, Figures]:
    """Figures per value of the columns `by`, in their order; without `by` under the key ()."""
    keys = [pl.col(name) for name in by] or [pl.lit(0).alias("all")]
    names = list(by) or ["all"]
    counts = frame.group_by(keys).agg(**COUNTS, **_quantiles("init")).sort(names)
    well = frame.lazy().filter(WELL).with_columns(pl.col("queue").fill_null(0.0))  # nothing waited: no metric
    times = well.group_by(keys).agg(**{k: v for name in SPREAD for k, v in _quantiles(name).items()}).collect()
    rows = counts.join(times, on=names, how="left", nulls_equal=True, maintain_order="left")
    errors = _errors(frame, keys, names)
    found = {tuple(row[name] for name in by): row for row in rows.iter_rows(named=True)}
    return {key: _figures(row, errors.get(key, {}), gb_second) for key, row in found.items()}


def _quantiles(name: str) -> dict[str, pl.Expr]:
    return {f"{name}_{p}": pl.col(name).quantile(share, "linear") for p, share in PERCENTILES.items()}


def _errors(frame: pl.DataFrame, keys: Sequence[pl.Expr], names: Sequence[str]) -> dict[Key, dict[str, int]]:
    """The most frequent first."""
    failed = frame.filter(CONVERSION & pl.col("error").is_not_null())
    counted = failed.with_columns(capped(failed["error"], MOST_CODES)).group_by([*keys, "error"]).len()
    errors: dict[Key, dict[str, int]] = {}
    for *key, code, times in counted.sort("len", "error", descending=[True, False]).iter_rows():
        errors.setdefault(tuple(key) if names != ["all"] else (), {})[code] = times
    return errors


def capped(names: pl.Series, most: int) -> pl.Series:
    """As strings, all but the `most` frequent as one."""
    kept = names.drop_nulls().value_counts(sort=True).head(most)[names.name].cast(pl.String)
    text = names.cast(pl.String)
    if text.n_unique() <= most:
        return text
    kept_or_others = pl.when(text.is_in(kept.to_list()) | text.is_null()).then(text).otherwise(pl.lit(OTHERS))
    return pl.select(kept_or_others.alias(names.name)).to_series()


def _figures(row: dict[str, Any], errors: dict[str, int], gb_second: float) -> Figures:
    usd = row["gb_seconds"] * gb_second + row["requests"] * INVOCATION if row["priced"] else None
    return Figures(
        **{
            name: row[name] or 0
            for name in ("conversions", "failed", "refused", "skipped", "cold_starts", "cache_hits")
        },
        environments=row["environments"],
        errors=errors,
        init=Init(row["inits"], _spread(row, "init")),
        stages=dict(_stages(row)),
        duration=_spread(row, "duration"),
        cpu_time=_spread(row, "cpu"),
        cpu_utilisation=_spread(row, "utilisation"),
        memory=_spread(row, "memory"),
        max_memory=row["max_memory"],
        cost=Cost(row["gb_seconds"], row["requests"], usd, row["unpriced"]),
    )


def _stages(row: dict[str, Any]) -> Iterator[tuple[str, Spread]]:
    for name in STAGES:
        if spread := _spread(row, name):
            yield name, spread


def _spread(row: dict[str, Any], name: str) -> Spread | None:
    """None where no line has it."""
    if row[f"{name}_p50"] is None:
        return None
    return Spread(*(row[f"{name}_{p}"] for p in PERCENTILES))
