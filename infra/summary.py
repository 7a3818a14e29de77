"""What a whole batch came to, for a person."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping

from infra import pace
from infra.outcome import Outcome

SCREEN = 20  # photos whose lines are still to be seen at the end
NAMED = 10  # failures that are told again


class Summary:
    """Counts outcomes as they come. A photo that failed and came again counts as it ended."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[str] = Counter()
        self._clock, self._begun = clock, clock()
        self._failed: dict[str, Outcome] = {}  # by photo: a watched one may fail first and be converted later
        self._told = 0

    def begin(self) -> None:
        """Time is counted from now on: what went before was no photo's."""
        self._begun = self._clock()

    def add(self, outcome: Outcome) -> None:
        self._told += 1
        self.counts[outcome.status] += 1
        if self._failed.pop(outcome.source, None):
            self.counts["failed"] -= 1
        if outcome.status == "failed":
            self._failed[outcome.source] = outcome

    @property
    def worked(self) -> int:
        """Photos that were more than looked at: what a rate is of."""
        return self._told - self.counts["skipped"]

    def lines(self, left: Mapping[str, int], nothing: str = "no photo found to convert") -> list[str]:
        """Failures that have scrolled away, then all of it in one line. `left` counts what was no photo."""
        done = [f"{self.counts[what]} {what}" for what in ("converted", "skipped", "failed") if self.counts[what]]
        others = ", ".join(f"{number} {why}" for why, number in sorted(left.items()))
        said = ", ".join(done) or nothing
        return [*self._again(), f"animegan: {said}{self._time()}" + (f"; left: {others}" if others else "")]

    def _time(self) -> str:
        if not self.counts["converted"]:
            return ""
        spent = self._clock() - self._begun
        return f" in {pace.spent(spent)} ({pace.rate(self.worked / max(spent, 1e-3))})"

    def _again(self) -> list[str]:
        if not self._failed or self._told <= SCREEN:
            return []
        more = len(self._failed) - NAMED
        told = [f"  {outcome.as_text()}" for outcome in list(self._failed.values())[:NAMED]]
        return ["animegan: these failed:", *told, *([f"  and {more} more"] if more > 0 else [])]
