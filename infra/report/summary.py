"""Everything that a report says, from the table of lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import polars as pl

from infra.estimate import GB_SECOND, INVOCATION
from infra.logs import Counted, Logs, Read
from infra.report.aggregate import Key, aggregate, capped
from infra.report.figures import SPREAD, Figures

MOST_NAMES = 20  # styles, sources told apart
MEGAPIXEL = 1_000_000
SIZES = ("up to 0.5 MP", "0.5 to 2 MP", "2 to 8 MP", "8 to 16 MP", "over 16 MP")
BOUNDS = (0.5, 2, 8, 16)
KINDS = ("ours", "foreign", "broken", "out_of_range")  # of lines
NOT_READ, NOT_ON_LAMBDA = "not read", "not on Lambda"

# What is told apart, and which lines have it: an init phase has no size, and what was skipped has no style.
DIMENSIONS = {
    "style": ("conversion", "init"),
    "source": ("conversion", "skipped"),
    "size_class": ("conversion",),
    "memory_size": ("conversion", "init"),
}


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of all lines of one style, source, size class or memory size."""

    name: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Day:
    """One day in UTC."""

    day: date
    figures: Figures
    by: dict[str, list[Group]]


@dataclass(frozen=True, slots=True)
class Summary:
    """`first` and `last` are the times of the first and the last line."""

    first: datetime
    last: datetime
    counted: Counted
    total: Figures
    days: list[Day]
    by: dict[str, list[Group]]
    gb_second: float

    @classmethod
    def of(cls, logs: Logs, gb_second: float = GB_SECOND) -> Summary:
        """`logs` have one line or more; `gb_second` is Lambda's price in USD."""
        frame = _prepared(logs.frame)
        total, days = aggregate(frame, [], gb_second), aggregate(frame, ["day"], gb_second)
        parts = {name: frame.filter(pl.col("event").is_in(events)) for name, events in DIMENSIONS.items()}
        return cls(
            first=frame["at"][0],
            last=frame["at"][-1],
            counted=logs.counted,
            total=total[()],
            days=_days(days, parts, gb_second),
            by={name: _groups(name, aggregate(part, [name], gb_second)) for name, part in parts.items()},
            gb_second=gb_second,
        )

    def as_json(self) -> dict[str, Any]:
        """Keys as in docs/report.md."""
        counted = self.counted
        return {
            "first": self.first.isoformat(timespec="milliseconds"),
            "last": self.last.isoformat(timespec="milliseconds"),
            "lines": {
                **{name: getattr(counted, name) for name in KINDS},
                "sources": [_source(read) for read in counted.sources],
            },
            "prices": {"gb_second": self.gb_second, "request": INVOCATION},
            "total": self.total.as_json(),
            "by": _by(self.by),
            "days": [
                {"day": day.day.isoformat(), **day.figures.as_json(), "by": _by(day.by)} for day in self.days
            ],
        }


def _prepared(frame: pl.DataFrame) -> pl.DataFrame:
    """With the columns to group by, and without those that nothing here needs."""
    megapixels = pl.col("input_pixels") / MEGAPIXEL
    size = pl.lit(SIZES[-1])
    for bound, label in reversed(list(zip(BOUNDS, SIZES, strict=False))):
        size = pl.when(megapixels <= bound).then(pl.lit(label)).otherwise(size)
    read = megapixels > 0
    return frame.select(
        *("at", "environment", "cold_start", "cache", "error", "init", "max_memory", "memory_size", *SPREAD),
        *(_few(frame[name]) for name in ("style", "source")),
        pl.col("event").cast(pl.Enum(["conversion", "init", "skipped"])),
        day=pl.col("at").dt.date(),
        size_class=pl.when(read).then(size).otherwise(pl.lit(NOT_READ)).cast(pl.Enum([*SIZES, NOT_READ])),
    )


def _few(names: pl.Series) -> pl.Series:
    return names if names.n_unique() <= MOST_NAMES else capped(names, MOST_NAMES).cast(pl.Categorical)


def _days(days: Mapping[Key, Figures], parts: Mapping[str, pl.DataFrame], gb_second: float) -> list[Day]:
    groups: dict[date, dict[str, list[Group]]] = {day: {name: [] for name in parts} for (day,) in days}
    for name, part in parts.items():
        for (day, value), figures in aggregate(part, ["day", name], gb_second).items():
            groups[day][name].append(Group(_label(name, value), figures))
    return [Day(day, figures, groups[day]) for (day,), figures in days.items()]


def _groups(name: str, found: Mapping[Key, Figures]) -> list[Group]:
    return [Group(_label(name, value), figures) for (value,), figures in found.items()]


def _label(dimension: str, value: object) -> str:
    if dimension == "memory_size":
        return NOT_ON_LAMBDA if value is None else f"{value} MB"
    return str(value)


def _source(read: Read) -> dict[str, Any]:
    return {"source": read.source, **{kind: getattr(read, kind) for kind in KINDS}, "stopped": read.stopped}


def _by(groups: Mapping[str, Sequence[Group]]) -> dict[str, Any]:
    return {
        name: [{"name": group.name, **group.figures.as_json()} for group in found]
        for name, found in groups.items()
    }
