"""What was read, line by line accounted for."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime


@dataclass(slots=True)
class Read:
    """One source. `ours` are the lines in the table; the others are not in it."""

    source: str
    ours: int = 0
    foreign: int = 0
    broken: int = 0
    out_of_range: int = 0
    first_ms: int | None = None  # of those out of range
    last_ms: int | None = None
    stopped: str | None = None  # why it was not read to its end

    @property
    def lines(self) -> int:
        return self.ours + self.foreign + self.broken + self.out_of_range

    def outside(self, at_ms: int) -> None:
        self.out_of_range += 1
        self.first_ms = at_ms if self.first_ms is None else min(self.first_ms, at_ms)
        self.last_ms = at_ms if self.last_ms is None else max(self.last_ms, at_ms)


@dataclass(slots=True)
class Counted:
    """All sources together, and each by itself."""

    sources: list[Read] = field(default_factory=list)

    @property
    def ours(self) -> int:
        return sum(read.ours for read in self.sources)

    @property
    def foreign(self) -> int:
        """Lines of other programs: START, END, REPORT, uvicorn's, tracebacks."""
        return sum(read.foreign for read in self.sources)

    @property
    def broken(self) -> int:
        """Lines of ours that are cut off, or say what they cannot say, as a duration below zero."""
        return sum(read.broken for read in self.sources)

    @property
    def out_of_range(self) -> int:
        return sum(read.out_of_range for read in self.sources)

    @property
    def lines(self) -> int:
        return sum(read.lines for read in self.sources)

    def outside(self) -> tuple[datetime, datetime] | None:
        """Time of the first and the last line out of range."""
        ends = [at for read in self.sources for at in (read.first_ms, read.last_ms) if at is not None]
        return (_utc(min(ends)), _utc(max(ends))) if ends else None

    def said(self) -> str:
        """One line for people: `1,204 lines of ours, 3,612 of others left out, 2 broken`."""
        parts = [f"{self.ours:,} {'line' if self.ours == 1 else 'lines'} of ours"]
        parts += [f"{self.foreign:,} of others left out"] if self.foreign else []
        parts += [f"{self.broken:,} broken"] if self.broken else []
        parts += [f"{self.out_of_range:,} outside the time range"] if self.out_of_range else []
        return ", ".join(parts)


def _utc(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
