"""Pictures that have to be made again."""

from __future__ import annotations

import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import LEAST
from infra.diagnose.evidence import MEASURED, finding, percent
from infra.diagnose.log import Log
from infra.diagnose.rows import Split

HITS_BEFORE = 0.1  # fewer, and there was no cache to speak of
LOST = 0.15  # of all conversions, that were hits before and are none now
NEW = 0.6  # of the conversions during a change come from processes that there were not before
FILLING = 30  # conversions of a new process, in which its cache may fill first

HIT = pl.col("cache") == "hit"
CURE = (
    "Give the cache more room (CACHE_BYTES; a JPEG of a megapixel takes about 300 KB). It is one per process "
    "and empty after a restart: fewer, longer-lived processes hit more. If CACHE_BYTES is 0 or a Lambda "
    "function has less than 3,008 MB, it is off. Different photos can't be hits: then this is the traffic."
)


def cache_misses(log: Log) -> Finding | None:
    """Fewer conversions are answered with a picture that was kept, so more have to be made.

    What it adds is the share of hits that was lost, times what making one takes. A cache that was switched off
    is all misses. Without hits at some time there is nothing to compare: photos may well be different.
    """
    rows = log.good.known("cache").with_column("missed", (~HIT).cast(pl.Float64))
    split = rows.split("missed")
    if not split:
        return None
    before, during = split.before.share(HIT), split.during.share(HIT)
    if before < HITS_BEFORE or before - during < LOST or _is_filling(split):
        return None
    making = split.during.where(~HIT).mean("service")
    return finding(
        log,
        split,
        Cause.CACHE_MISSES,
        (before - during) * (making - rows.where(HIT).mean("service")),
        MEASURED,
        shows="missed",
        how="average",
        what="fewer pictures come from the cache",
        stage=None,
        evidence=(
            percent(split, "answered from the cache", HIT),
            Figure("making a picture", making, rows.where(HIT).mean("latency"), "ms instead"),
            Figure("cache is off", "yes" if split.during.usual("cache") == "off" else "no"),
        ),
        cure=CURE,
    )


def _is_filling(split: Split) -> bool:
    """Whether new processes, whose cache is empty at first, are all that there is: then later hits count."""
    new = ~pl.col("environment").is_in(list(split.before.environments))
    if split.during.share(new) < NEW or split.during.usual("cache") == "off":
        return False
    filled = split.rows.where(new & (pl.int_range(pl.len()).over("environment") >= FILLING))
    lost = split.before.share(HIT) - filled.share(HIT)
    return len(filled) < LEAST or lost < 2 * LOST  # twice, as there are few of them
