"""A log as rules read it: which of its conversions are which, and how many were under way at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from infra.diagnose.changes import Floats
from infra.diagnose.prepare import prepared
from infra.diagnose.rows import Rows

BUSY = "busy"
LONGEST_MS = 900_000.0  # of a Lambda invocation


@dataclass(frozen=True)
class Log:
    """`conversions` are all of them, failed and refused ones too; `inits` the lines of init phases."""

    conversions: Rows
    inits: Rows

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Log:
        rows = prepared(frame)
        event = rows.frame["event"]
        conversions = rows.where((event == "conversion").fill_null(False).to_numpy())
        return cls(_with_waits(conversions), rows.where((event == "init").fill_null(False).to_numpy()))

    def only(self, environment: str) -> Log:
        """The log of one environment."""
        return Log(self.conversions.of(environment), self.inits.of(environment))

    @cached_property
    def refused(self) -> Rows:
        """No slot was free, and the queue full."""
        return self.conversions.where(pl.col("error") == BUSY)

    @cached_property
    def good(self) -> Rows:
        """Answered with a picture, kept ones too. `latency` of the first of an environment has its init phase."""
        rows = self.conversions.where(pl.col("error").is_null())
        first = pl.col("cold_start").fill_null(False)
        waited = pl.when(first).then(pl.col("environment").replace_strict(self._init, default=None)).fill_null(0.0)
        return rows.with_column("latency", pl.col("latency") + waited)

    @cached_property
    def made(self) -> Rows:
        """Those that went through the network."""
        return self.good.where((pl.col("inference") > 0) & (pl.col("cache").fill_null("off") != "hit"))

    @cached_property
    def warm(self) -> Rows:
        """Made, and not the first of its environment."""
        return self.made.where(~pl.col("cold_start").fill_null(False))

    @cached_property
    def _init(self) -> dict[str, float]:
        """Environment -> its init phase in ms."""
        rows = self.inits.known("init").frame
        return dict(zip(rows["environment"], rows["init"], strict=True)) or {"": 0.0}


def _with_waits(rows: Rows) -> Rows:
    rows = rows.with_column("crowd", _crowd(rows))
    share = pl.max_horizontal(pl.lit(1.0), pl.col("crowd") * pl.col("capacity") / pl.col("vcpus")).fill_null(1.0)
    return rows.with_column("waited", pl.col("queue") + pl.col("service") * (1 - 1 / share))


def _crowd(rows: Rows) -> Floats:
    """For each conversion, how many of its environment were under way during it, on average; itself is one.

    `at` is when its line was written, so it was under way for `service` before that. The number under way is a
    staircase in time; its integral at both ends of a conversion gives the mean in between. Environments are laid
    one after the other on one axis, so that they do not meet.
    """
    if not len(rows):
        return np.empty(0)
    took = np.minimum(rows["service"], LONGEST_MS)
    end = rows.frame["at"].dt.epoch("ms").fill_null(0).to_numpy().astype(np.float64)
    end -= end.min()
    number = rows.frame["environment"].rank("dense").to_numpy().astype(np.float64)
    end += number * (end.max() + 2 * LONGEST_MS)
    times, area = _area(np.concatenate([end - took, end]), len(took))
    mean = (np.interp(end, times, area) - np.interp(end - took, times, area)) / np.where(took > 0, took, 1.0)
    return np.where(took > 0, np.maximum(mean, 1.0), 1.0)


def _area(steps: Floats, begins: int) -> tuple[Floats, Floats]:
    """Times, and the number under way summed up to each; of `steps`, the first `begins` are where one begins."""
    order = np.argsort(steps, kind="stable")
    times = steps[order]
    under_way = np.cumsum(np.where(order < begins, 1.0, -1.0))
    return times, np.concatenate([[0.0], np.cumsum(under_way[:-1] * np.diff(times))])
