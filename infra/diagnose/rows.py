"""Conversions as rules read them, and the same before and during a change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from infra.diagnose.changes import SEPARATE, Change, Floats, change

TRIMMED = 0.1  # of the values at each end that a mean leaves out


@dataclass(frozen=True)
class Rows:
    """Some of the conversions, in order of time."""

    frame: pl.DataFrame

    def __len__(self) -> int:
        return self.frame.height

    def __getitem__(self, name: str) -> Floats:
        return self.frame[name].cast(pl.Float64).fill_null(np.nan).to_numpy()

    def where(self, condition: pl.Expr | NDArray[np.bool_]) -> Rows:
        return Rows(self.frame.filter(condition))

    def known(self, *names: str) -> Rows:
        """Those that have a value in each of these columns."""
        return self.where(pl.all_horizontal(pl.col(name).is_not_null() for name in names))

    def with_column(self, name: str, values: Floats | pl.Expr) -> Rows:
        column = values if isinstance(values, pl.Expr) else pl.Series(name, values, nan_to_null=True)
        return Rows(self.frame.with_columns(column.alias(name)))

    def slice(self, begin: int, end: int) -> Rows:
        return Rows(self.frame.slice(begin, end - begin))

    def mean(self, name: str) -> float:
        """Without the tenth at each end, so that no outlier makes a mean; NaN where nothing is known."""
        values = np.sort(known(self[name]))
        cut = int(len(values) * TRIMMED)
        return float(values[cut : len(values) - cut].mean()) if len(values) else float("nan")

    def average(self, name: str) -> float:
        """With all of them: for shares, and for what is rare and long."""
        values = known(self[name])
        return float(values.mean()) if len(values) else float("nan")

    def median(self, name: str) -> float:
        values = known(self[name])
        return float(np.median(values)) if len(values) else float("nan")

    def share(self, condition: pl.Expr) -> float:
        """Of the rows that meet a condition; 0 where there are none."""
        return len(self.where(condition)) / max(len(self), 1)

    def usual(self, name: str) -> str | None:
        """The most frequent text of a column."""
        counts = self.frame[name].drop_nulls().value_counts().sort("count", name, descending=[True, False])
        return None if counts.is_empty() else str(counts[name][0])

    def at(self, index: int) -> datetime:
        when: datetime = self.frame["at"][index]
        return when

    @cached_property
    def environments(self) -> tuple[str, ...]:
        """In order of their first conversion."""
        return tuple(self.frame["environment"].unique(maintain_order=True))

    def of(self, environment: str) -> Rows:
        return self.where(pl.col("environment") == environment)

    def split(self, name: str, least: float = SEPARATE) -> Split | None:
        """Where the values of a column got larger, or None; rows without a value are left out.

        What is larger to this day counts more than what is over: after a stretch that ended, they are looked at
        again without it.
        """
        rows = self.known(name)
        if not (found := change(rows[name], least)):
            return None
        if found.end < len(rows) and (again := rows._lasting(name, least, found)):
            return again
        return Split(rows, found.begin, found.end)

    def _lasting(self, name: str, least: float, over: Change) -> Split | None:
        rest = Rows(pl.concat([self.frame[: over.begin], self.frame[over.end :]]))
        found = change(rest[name], least)
        lasts = found and found.end == len(rest) and found.begin >= over.begin
        return Split(rest, found.begin, found.end) if found and lasts else None


@dataclass(frozen=True)
class Split:
    """The same conversions before and during a change; those after it, if it ended, are in neither."""

    rows: Rows
    begin: int
    end: int

    @cached_property
    def before(self) -> Rows:
        return self.rows.slice(0, self.begin)

    @cached_property
    def during(self) -> Rows:
        return self.rows.slice(self.begin, self.end)

    @property
    def since(self) -> datetime:
        return self.rows.at(self.begin)

    @property
    def until(self) -> datetime | None:
        return self.rows.at(self.end - 1) if self.end < len(self.rows) else None

    def ratio(self, name: str) -> float:
        """Of the means, during over before; NaN where one is unknown or the first is zero."""
        return ratio(self.during.mean(name), self.before.mean(name))

    def showing(self, name: str) -> tuple[str, ...]:
        """Environments that are nearer to the change than to what was before it."""
        middle = (self.before.median(name) + self.during.median(name)) / 2
        medians = self.during.frame.group_by("environment", maintain_order=True).agg(pl.col(name).median())
        return tuple(medians.filter(pl.col(name) >= middle)["environment"])


def ratio(value: float, base: float) -> float:
    return value / base if base > 0 else float("nan")


def known(values: Floats) -> Floats:
    return values[np.isfinite(values)]
