"""Whether a series rises: the median of the slopes between any two of its points (Theil-Sen), with its interval.

Machines have moments in which everything takes twice as long; those move a mean or a fitted line, and this hardly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Trend:
    """Change from the first point to the last, as a share of the median, and the interval that it is in."""

    change: float
    low: float
    high: float

    @property
    def rises(self) -> bool:
        """Whether not even the interval's lower end is at or below zero."""
        return self.low > 0

    def __str__(self) -> str:
        return f"{self.change:+.2%} ({CONFIDENCE:.0%}: {self.low:+.2%} to {self.high:+.2%})"


def trend(values: Sequence[float]) -> Trend:
    """Of at least two points, one after the other. SciPy has to be there."""
    from scipy.stats import theilslopes

    slope, _, low, high = theilslopes(values, alpha=CONFIDENCE)
    whole = (len(values) - 1) / median(values)
    return Trend(float(slope * whole), float(low * whole), float(high * whole))
