"""More threads than CPUs."""

from __future__ import annotations

import numpy as np
import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import LEAST
from infra.diagnose.evidence import figure, finding, standing
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows, Split
from infra.diagnose.rules.paging import slowdown

# Threads for each vCPU, rounded up: 2 threads on 1.7 vCPUs are what NUM_THREADS=auto takes. One more thread than
# that, on a machine with many, is hardly felt.
MOST = 1.25

CROWDED = pl.col("threads") > MOST * pl.col("vcpus").ceil()
CURE = (
    "Set NUM_THREADS=auto (as many as there are vCPUs), and check OMP_NUM_THREADS, the CPU quota of the "
    "container and its affinity: threads beyond the CPUs only take turns, and wait for each other at each "
    "operator's end."
)


def thread_oversubscription(log: Log) -> Finding | None:
    """A conversion has more threads than the environment has vCPUs.

    This is a setting, which the log has, so that it is told even where it costs little: what threads beyond the
    CPUs cost goes by the machine, from nothing to several times. Involuntary switches show that they take turns.
    """
    rows = log.warm.known("threads", "vcpus")
    rows = rows.with_column("threads per vCPU", pl.col("threads") / pl.col("vcpus").ceil())
    if rows.share(CROWDED) * len(rows) < LEAST:
        return None
    split = rows.split("threads per vCPU")
    if split and not split.before.share(CROWDED) > 0.5:
        return _set_anew(log, split)
    crowded = rows.where(CROWDED)
    return standing(
        log,
        crowded,
        Cause.THREAD_OVERSUBSCRIPTION,
        0.0,
        what="conversions have more threads than CPUs",
        stage="inference",
        evidence=(
            Figure("threads", crowded.median("threads"), unit=f"on {crowded.median('vcpus'):g} vCPUs"),
            Figure("involuntary switches", crowded.mean("switching"), unit="per second"),
            Figure("inference per megapixel", crowded.mean("pace"), unit="ms"),
        ),
        cure=CURE,
    )


def _set_anew(log: Log, split: Split) -> Finding | None:
    return finding(
        log,
        split,
        Cause.THREAD_OVERSUBSCRIPTION,
        max(0.0, slowdown(split)),
        0.0,
        shows="threads per vCPU",
        what="conversions have more threads than CPUs",
        stage="inference",
        evidence=(
            Figure(
                "threads",
                split.during.median("threads"),
                split.before.median("threads"),
                f"on {split.during.median('vcpus'):g} vCPUs",
            ),
            figure(split, "involuntary switches", "switching", "per second"),
            figure(split, "CPU time of inference per megapixel", "work", "ms"),
            figure(split, "inference per megapixel", "pace", "ms"),
        ),
        cure=CURE,
    )


def more_threads(split: Split) -> bool:
    """Whether threads beyond the CPUs came with a change."""
    with_threads = split.during.known("threads", "vcpus")
    return bool(len(with_threads)) and bool(np.nan_to_num(with_threads.share(CROWDED)) > 0.5)


def crowded(rows: Rows) -> bool:
    return bool(len(rows)) and rows.share(CROWDED) > 0.5
