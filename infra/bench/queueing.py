"""How long clients should wait: the same conversions, reckoned through a queue that serves the first first.

With the times that conversions took, in their order: a machine's slow moments come in bursts, so sums of
independent times would promise a steadier wait than there can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace
from statistics import quantiles


def waits(worked: Sequence[float], clients: int, slots: int) -> list[float]:
    """The wait of each conversion, its own time included; not of each client's first, which meets no full queue.

    Each client asks again at the moment that it is answered. At most `clients` are inside: the rest is sent away.
    """
    asked, free = [0.0] * clients, [0.0] * slots
    heapify(asked)
    found = []
    for seconds in worked:
        done = max(asked[0], free[0]) + seconds
        found.append(done - asked[0])
        heapreplace(asked, done)
        heapreplace(free, done)
    return found[clients:]


def percentile(values: Sequence[float], percent: int) -> float:
    """Of at least one value."""
    return quantiles(values, n=100, method="inclusive")[percent - 1] if len(values) > 1 else values[0]
