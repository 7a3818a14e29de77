"""What is no cause of slower conversions, but worth knowing; and slower conversions that have none."""

from __future__ import annotations

import math

import polars as pl

from infra.diagnose.log import BUSY, Log
from infra.diagnose.prepare import STAGES
from infra.diagnose.rows import Rows, Split

FAILED = 0.05  # of the conversions, from which on failures are worth a word
UNEXPLAINED = 0.25  # slower; machines in a cloud differ by as much from hour to hour
LEAST_MS = 6.0  # of a conversion; where threads are woken costs as much (rules/contention.py)
COSTLIER = 1.15  # times the CPU time for the same work; where only the clock ran on, threads waited
PARTS = ("queue", "s3_get", *STAGES, "s3_put")


def notes(log: Log, slower: Split | None) -> tuple[str, ...]:
    return tuple(note for note in (_failed(log), slower and _slower(log, slower)) if note)


def unexplained(log: Log) -> Split | None:
    """Since when conversions take longer, for their pixels or at all; asked where no rule found why."""
    rows = log.warm.known("latency").with_column("wait", pl.col("latency") / pl.col("megapixels"))
    for found in (rows.split("wait"), rows.split("latency")):
        if found and not found.until and _much(found):
            return found
    return None


def longer(split: Split) -> float:
    """By how much: 0.5 for half as long again."""
    return split.ratio("latency") - 1


def _much(split: Split) -> bool:
    added = split.during.mean("latency") - split.before.mean("latency")
    return longer(split) >= UNEXPLAINED and added >= LEAST_MS


def _failed(log: Log) -> str | None:
    rows = log.conversions.where(pl.col("error").is_not_null() & (pl.col("error") != BUSY))
    if len(rows) < FAILED * max(len(log.conversions), 1) or not len(rows):
        return None
    counts = rows.frame["error"].value_counts().sort("count", "error", descending=[True, False])
    codes = ", ".join(f"{code} {count:,}" for code, count in counts.head(3).iter_rows())
    return f"{len(rows):,} of {len(log.conversions):,} conversions failed ({codes}); they are in no figure here"


def _slower(log: Log, split: Split) -> str:
    stage = max(PARTS, key=lambda name: _added(split, name))
    (wait, was), (took, before) = (_means(split, name) for name in ("latency", stage))
    why = WHY.get(stage)
    return (
        f"since {split.since:%Y-%m-%d %H:%M:%S} UTC callers wait {wait:,.0f} ms in place of {was:,.0f}, mostly "
        f"for {stage}: {before:,.0f} ms before, {took:,.0f} since{'. ' + why(log, split) if why else ''}"
    )


def _means(split: Split, name: str) -> tuple[float, float]:
    """During and before; a stage that no conversion had took no time."""
    during, before = (part.mean(name) for part in (split.during, split.before))
    return _zero(during), _zero(before)


def _added(split: Split, stage: str) -> float:
    during, before = _means(split, stage)
    return during - before


def _faces(log: Log, split: Split) -> str:
    before, since = (100 * part.share(pl.col("face") > 0) for part in (split.before, split.during))
    return f"Faces are painted in {since:.0f} % of the conversions, which were {before:.0f} %"


def _inference(log: Log, split: Split) -> str:
    more = split.ratio("work") - 1
    if math.isnan(more):
        return "Its CPU time is not in the log, so that waiting for CPUs and a slower processor look alike"
    if more < COSTLIER - 1:
        return "The same work takes the same CPU time: its threads wait, and nothing in the log says for whom"
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


def _bytes(log: Log, split: Split) -> str:
    more = split.ratio("input_bytes"), split.ratio("output_bytes")
    return "Photos have {:.1f} times, pictures {:.1f} times as many bytes as before".format(*more)


WHY = {"inference": _inference, "face": _faces, "s3_get": _bytes, "s3_put": _bytes}


def _zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value
