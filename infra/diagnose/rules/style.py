"""A style or a precision that costs more."""

from __future__ import annotations

import numpy as np
import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import Floats
from infra.diagnose.evidence import figure, finding
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows

PRECISION = 0.2  # float32 takes three to five times as long as bfloat16 where that is in hardware
STYLE = 0.35  # all AnimeGANv2 styles are one network: less is the machine's doing that coincides by chance

CURES = {
    True: "Set PRECISION=auto (bfloat16 where the processor multiplies it in hardware: AMX, AVX512-BF16); "
    "if it is auto, the function now runs on processors without: `animegan doctor` says what this one can.",
    False: "Ask for the other style, or set STYLE back; `animegan bench engine` measures what a style costs.",
}


def slower_style(log: Log) -> Finding | None:
    """Conversions moved to a style or a precision whose inference needs more CPU time per pixel.

    CPU time, since that does not rise where other processes take turns. Each pair of style and precision has one
    cost, the median over the log, so a log of one pair can have no change here, however noisy its machine.
    """
    rows = log.warm.known("work", "inference")
    costs = _costs(rows)
    if len(np.unique(costs)) < 2:
        return None
    split = rows.with_column("cost", costs).split("cost")
    if not split:
        return None
    times = split.during.average("cost") / split.before.average("cost")
    switched = split.before.usual("precision") != split.during.usual("precision")
    usual = "precision" if switched else "style"
    return finding(
        log,
        split,
        Cause.SLOWER_STYLE,
        split.during.mean("inference") * (1 - 1 / times),
        PRECISION if switched else STYLE,
        shows="cost",
        what=f"a slower {usual} is used",
        stage="inference",
        evidence=(
            Figure(usual, split.during.usual(usual), split.before.usual(usual)),
            figure(split, "CPU time of inference per megapixel", "work", "ms"),
            figure(split, "inference per megapixel", "pace", "ms"),
        ),
        cure=CURES[switched],
    )


def _costs(rows: Rows) -> Floats:
    """For each conversion the median CPU time per megapixel of its style and precision."""
    cost = pl.col("work").median().over("style", "precision")
    return rows.with_column("cost", cost)["cost"]
