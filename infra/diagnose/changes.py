"""When a series got larger: the stretch of it that stands out most from the rest, by ranks.

Ranks, because machines have moments in which everything takes ten times as long, and those must count once.
The statistic is Mann and Whitney's, for every stretch that is long enough: the one with the largest z is where
the change is, and it is one only if z passes the bound for as many tries (Bonferroni). What follows one another
is seldom independent, which makes chance look like change; z is therefore made smaller by the series' own
correlation.

Stretches share most of their values, so they are fewer tries than there are of them. With 2 (n / LEAST)² tries one
series of 40 to 400 independent values in a thousand passes: simulated, 1,500 series of each length.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST = 15  # conversions on each side of a change; fewer, and a single slow second decides
P = 1e-3  # chance of a change in a series without one; a diagnosis looks at some ten series
# How often, at least, a value during the change is above one before it; 0.5 is chance. Most flags are equal.
SEPARATE, SEPARATE_FLAGS = 0.75, 0.55
# What clients ask for, and no machine adds its noise to: sizes of mixed traffic that doubled are 0.7.
SEPARATE_ASKED = 0.6
MOST_CORRELATED = 0.5  # a steady rise is correlated by itself, and must not count for nothing
LAGS = 1, 2  # neighbours, and those who come in pairs
LASTING = 0.9  # of the best z: a change that nearly as well lasts to the end is taken to do so
BOUNDARIES = 300  # at most so many places where a stretch may begin or end; the time goes with their square


@dataclass(frozen=True, slots=True)
class Change:
    """Values from `begin` up to `end` are larger than those before; `z` is how clearly so."""

    begin: int
    end: int
    z: float


def change(values: Floats, least: float = SEPARATE) -> Change | None:
    """Where a series in order of time got larger, or None. All values are finite.

    `least` is how often a value during the change must be above one before it, where there are more than two.
    """
    size = len(values)
    if size < 2 * LEAST or values.min() == values.max():
        return None
    ranks = _ranked(values)
    begin, end, z = _most(ranks)
    parts = ranks[:begin], ranks[begin:end]
    z /= _inflation(values, (begin, end))
    separate = least if len(np.unique(values)) > 2 else SEPARATE_FLAGS
    if z < _bound(size) or _above(*parts) < separate:
        return None
    return Change(begin, end, z)


def rises(values: Floats, tries: int) -> bool:
    """Whether a series goes up more than chance makes one of so many do, once in a thousand logs.

    Spearman's rank correlation with time; times sqrt(n - 1) it is standard normal where there is none (Hoeffding).
    """
    size = len(values)
    ranks = _ranked(values) - (size + 1) / 2
    time = np.arange(size) - (size - 1) / 2
    z = np.sqrt(size - 1) * float(ranks @ time) / np.sqrt(max(float(ranks @ ranks) * float(time @ time), 1.0))
    return bool(z >= -NormalDist().inv_cdf(P / tries))


def _most(ranks: Floats) -> tuple[int, int, float]:
    """The stretch with the largest z, with at least LEAST values before it and in it."""
    size = len(ranks)
    sums = np.concatenate([[0.0], np.cumsum(ranks - ranks.mean())])
    places = np.unique(np.linspace(LEAST, size, min(size - LEAST + 1, BOUNDARIES)).astype(int))
    begin, end = places[:, None], places[None, :]
    inside = end - begin
    spread = np.sqrt(np.maximum(inside, 1) * np.maximum(size - inside, 1) * ranks.var() / (size - 1))
    # A stretch that ends before the series does needs a rest that is long enough to say that it has ended.
    allowed = (inside >= LEAST) & ((end == size) | (size - end >= LEAST))
    z = np.where(allowed, (sums[end] - sums[begin]) / spread, -np.inf)
    row, column = np.unravel_index(int(z.argmax()), z.shape)
    lasting = int(z[:, -1].argmax())
    if z[lasting, -1] >= LASTING * z[row, column]:
        row, column = np.intp(lasting), np.intp(len(places) - 1)
    return int(places[row]), int(places[column]), float(z[row, column])


def _bound(size: int) -> float:
    """The z that the best of all stretches must pass."""
    return -NormalDist().inv_cdf(P / (2 * (size / LEAST) ** 2))


def _inflation(values: Floats, at: tuple[int, int]) -> float:
    """By how much correlated neighbours widen a mean: sqrt((1 + r) / (1 - r)), with r around each part's mean.

    Never below 1: where every second conversion waits for the one before it, the mean is no surer for it.
    """
    ranks = _ranked(values)
    rest = np.concatenate([part - part.mean() for part in np.split(ranks, at) if len(part)])
    if not (power := float(rest @ rest)):
        return 1.0
    r = max(float(rest[lag:] @ rest[:-lag]) / power for lag in LAGS)
    r = min(max(0.0, r), MOST_CORRELATED)
    return float(np.sqrt((1 + r) / (1 - r)))


def _above(before: Floats, during: Floats) -> float:
    """The chance that a value during the change is above one before it; equal ones count half."""
    ranks = _ranked(np.concatenate([before, during]))[len(before) :]
    return float((ranks.sum() / len(during) - (len(during) + 1) / 2) / len(before))


def _ranked(values: Floats) -> Floats:
    """From 1; equal values share the mean of theirs."""
    return pl.Series(values).rank("average").to_numpy()
