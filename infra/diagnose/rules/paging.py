"""Memory that is read from the disk again and again."""

from __future__ import annotations

import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import LEAST
from infra.diagnose.evidence import figure, finding, percent, standing
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows, Split

# Major faults a conversion. A warm one has none, whatever its size; a disk takes 0.1 to 10 ms for each.
FAULTS = 10.0
OFTEN = 0.3  # of the conversions have some: a process that reads a library for the first time has them in one

FAULTY = pl.col("major_faults") > 0
CURE = (
    "Give it more memory (MemorySize; beside other programs, a machine with more): pages of libraries and of "
    "the model are thrown out and read again. Meanwhile lower MAX_SIDE, MAX_CONCURRENCY or CACHE_BYTES, which "
    "take less of it."
)


def paging(log: Log) -> Finding | None:
    """Conversions wait for pages from the disk: major faults, of which a warm process has none.

    What it adds is by how much conversions of the same size got slower, or the time that their threads did not
    run, whichever is more. It is told even where it is not slow yet, as memory that is full only gets fuller.
    """
    rows = log.warm.known("major_faults", "service")
    split = rows.split("major_faults")
    if not split:
        return _all_along(log, rows)
    if split.during.average("major_faults") < FAULTS or split.during.share(FAULTY) < OFTEN:
        return None
    return finding(
        log,
        split,
        Cause.PAGING,
        max(0.0, slowdown(split), standstill(split)),
        0.0,
        shows="major_faults",
        what="memory is full, and pages are read from the disk again",
        stage="inference",
        evidence=(
            figure(split, "major page faults", "major_faults", "per conversion", "average"),
            percent(split, "conversions with one", FAULTY),
            figure(split, "inference per megapixel", "pace", "ms"),
            figure(split, "memory used", "memory", "MiB"),
        ),
        cure=CURE,
    )


def slowdown(split: Split) -> float:
    """What a conversion takes longer than before, beyond what more pixels explain; in ms."""
    grown = split.ratio("megapixels")
    expected = split.before.mean("service") * (max(1.0, grown) if grown == grown else 1.0)
    return split.during.mean("service") - expected


def standstill(split: Split) -> float:
    """What a conversion takes longer because its threads do not run; in ms, 0 where CPU times are unknown."""
    stretched = split.ratio("stretch")
    return split.during.mean("inference") * (1 - 1 / stretched) if stretched > 1 else 0.0


def _all_along(log: Log, rows: Rows) -> Finding | None:
    """Most conversions have faults, from the first to the last."""
    if len(rows) < 2 * LEAST or rows.average("major_faults") < FAULTS or rows.share(FAULTY) < 0.5:
        return None
    stretch = rows.mean("stretch")
    return standing(
        log,
        rows,
        Cause.PAGING,
        rows.mean("inference") * (1 - 1 / stretch) if stretch > 1 else 0.0,
        what="memory is full, and pages are read from the disk again",
        stage="inference",
        evidence=(
            Figure("major page faults", rows.average("major_faults"), unit="per conversion"),
            Figure("conversions with one", 100 * rows.share(FAULTY), unit="%"),
            Figure("memory used", rows.mean("memory"), unit="MiB"),
        ),
        cure=CURE,
    )
