"""What `animegan diagnose` says of logs whose fault is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.faults.kept import Label
from infra.faults.scenario import CLEAN

UNSURE = "not_enough_data"


@dataclass(frozen=True, slots=True)
class Judged:
    """A run: its fault, what was said of it, and the seconds between the change and when it is said to be."""

    name: str
    set: str
    cause: str
    said: str
    strength: list[Any]
    medians_ms: list[float]
    late_s: float | None = None
    others: float = 0.0  # CPUs that processes took which are no part of it

    @property
    def injected(self) -> bool:
        return self.cause != CLEAN

    @property
    def right(self) -> bool:
        return self.said == self.cause

    @property
    def false_alarm(self) -> bool:
        return not self.injected and self.said not in (CLEAN, UNSURE)


@dataclass
class Matrix:
    """Faults against what was said, in the order of `causes`."""

    causes: Sequence[str]
    counts: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, runs: Iterable[Judged], order: Sequence[str]) -> Matrix:
        """What is said but not in `order` comes last."""
        runs = list(runs)
        others = {run.said for run in runs} | {run.cause for run in runs}
        found = cls([*order, *sorted(others - set(order))])
        for run in runs:
            found.counts[run.cause, run.said] = found.counts.get((run.cause, run.said), 0) + 1
        return found

    def row(self, cause: str) -> list[int]:
        return [self.counts.get((cause, said), 0) for said in self.causes]


def judge(log: Path, label: Label) -> Judged:
    """Read the log as a user's and diagnose it. Raises ToolErrors."""
    from infra.diagnose import diagnose
    from infra.logs import load

    found = diagnose(load([str(log)]).frame)
    late = _late(found, float(label.seen["changed_at"])) if label.cause != CLEAN else None
    strength = list(label.strength.get("of", []))
    medians = list(label.seen["medians_ms"])
    others = max(label.seen["others"])
    return Judged(log.parent.name, label.set, label.cause, str(found.cause), strength, medians, late, others)


def _late(found: Any, changed_at: float) -> float | None:
    since = found.causes[0].since if found.causes else None
    if not isinstance(since, datetime):
        return None
    aware = since if since.tzinfo else since.replace(tzinfo=UTC)
    return round(aware.timestamp() - changed_at, 1)
