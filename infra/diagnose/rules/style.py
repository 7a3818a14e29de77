"""A style, a precision or operators that cost more."""

from __future__ import annotations

import numpy as np
import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import Floats
from infra.diagnose.evidence import figure, finding
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows, Split

# Columns that choose what inference costs, the likeliest choice first, and by how much conversions must be slower
# at least. float32 takes two to five times as long as bfloat16 where that is in hardware, torch's operators two to
# four times as long as a style's own. All AnimeGANv2 styles are one network: less is the machine's doing.
CHOICES = {"style": 0.35, "precision": 0.2, "kernel": 0.2}
NAMES = {"kernel": "operators"}  # for people
CURES = {
    "style": "Ask for the other style, or set STYLE back; `animegan bench engine` measures what a style costs.",
    "precision": "Set PRECISION=auto (bfloat16 where the processor multiplies it in hardware: AMX, AVX512-BF16); "
    "if it is auto, the function now runs on processors without: `animegan doctor` says what this one can.",
    "kernel": "Leave KERNEL at auto, and freeze the style, or build the image, on a processor with AVX-512 and "
    "with a C++ compiler, so that the style brings its own operators; processors without AVX-512 cannot run "
    "them. `animegan doctor` says which of these it is.",
}


def slower_style(log: Log) -> Finding | None:
    """Conversions moved to a style, a precision or operators whose inference needs more CPU time per pixel.

    CPU time, since that does not rise where other processes take turns. Each combination of the three has one
    cost, the median over the log, so a log of a single one can have no change here, however noisy its machine.
    """
    rows = log.warm.known("work", "inference")
    costs = _costs(rows)
    if len(np.unique(costs)) < 2:
        return None
    split = rows.with_column("cost", costs).split("cost")
    if not split:
        return None
    times = split.during.average("cost") / split.before.average("cost")
    changed = [name for name in CHOICES if split.before.usual(name) != split.during.usual(name)] or ["style"]
    return finding(
        log,
        split,
        Cause.SLOWER_STYLE,
        split.during.mean("inference") * (1 - 1 / times),
        min(CHOICES[name] for name in changed),
        shows="cost",
        what=f"slower {' and '.join(NAMES.get(name, name) for name in changed)} in use",
        stage="inference",
        evidence=(
            *(_named(split, name) for name in changed),
            figure(split, "CPU time of inference per megapixel", "work", "ms"),
            figure(split, "inference per megapixel", "pace", "ms"),
        ),
        cure=CURES[changed[0]],
    )


def _named(split: Split, name: str) -> Figure:
    return Figure(NAMES.get(name, name), split.during.usual(name), split.before.usual(name))


def _costs(rows: Rows) -> Floats:
    """For each conversion the median CPU time per megapixel of its style, precision and operators."""
    cost = pl.col("work").median().over(*CHOICES)
    return rows.with_column("cost", cost)["cost"]
