"""What is no cause of slower conversions, but worth knowing beside one."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from infra.diagnose.causes import Finding
from infra.diagnose.log import BUSY, Log
from infra.diagnose.rules.paging import slowdown

FAILED = 0.05  # of the conversions, from which on failures are worth a word
UNEXPLAINED = 0.25  # slower at the same work; machines in a cloud differ by as much from hour to hour


def notes(log: Log, found: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(note for note in (_failed(log), None if found else _unexplained(log)) if note)


def _failed(log: Log) -> str | None:
    rows = log.conversions.where(pl.col("error").is_not_null() & (pl.col("error") != BUSY))
    if len(rows) < FAILED * max(len(log.conversions), 1) or not len(rows):
        return None
    counts = rows.frame["error"].value_counts().sort("count", "error", descending=[True, False])
    codes = ", ".join(f"{code} {count:,}" for code, count in counts.head(3).iter_rows())
    return f"{len(rows):,} of {len(log.conversions):,} conversions failed ({codes}); they are in no figure here"


def _unexplained(log: Log) -> str | None:
    """Inference that needs more CPU time for the same work, and nothing in the log that would account for it."""
    split = log.warm.split("pace")
    if not split or not slowdown(split) >= UNEXPLAINED * split.before.mean("service"):
        return None
    return (
        f"since {split.since:%Y-%m-%d %H:%M:%S} UTC inference takes {split.ratio('pace') - 1:.0%} longer per "
        "megapixel, and the log does not say why: no thread waited, no work was added. The processor "
        "itself is slower: another model, a lower clock, or a core and caches that are shared with somebody else"
    )
