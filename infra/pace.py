"""How fast work goes, and how long the rest of it will take."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

WINDOW = 20  # steps: long enough for an even figure, short enough to follow a change


class Pace:
    """Told how far the work is, it knows the seconds of a step by the last of them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen = deque([(0.0, clock())], maxlen=WINDOW + 1)
        self._left: float | None = None

    def step(self, done: float, total: float | None) -> None:
        """So much is done, of so much if that is known. Less than before, or nothing: it begins anew."""
        if not done or done < self._seen[-1][0]:
            self._seen.clear()
        if not self._seen or done > self._seen[-1][0]:
            self._seen.append((done, self._clock()))
        self._left = None if total is None else max(0.0, total - done)

    @property
    def per_second(self) -> float | None:
        """None until there is something to go by."""
        (first, begun), (last, ended) = self._seen[0], self._seen[-1]
        return (last - first) / (ended - begun) if last > first and ended > begun else None

    @property
    def seconds_left(self) -> float | None:
        if self._left is None or self.per_second is None:
            return None
        since = self._clock() - self._seen[-1][1]  # a long step counts down too
        return max(0.0, self._left / self.per_second - since)

    def __str__(self) -> str:
        return ", ".join(filter(None, (rate(self.per_second), left(self.seconds_left))))


def rate(per_second: float | None) -> str:
    """`2.5/s`, `12/min`; nothing where it is not known."""
    if per_second is None:
        return ""
    return f"{per_second:.1f}/s" if per_second >= 1 else f"{60 * per_second:.3g}/min"


def left(seconds: float | None) -> str:
    return "" if seconds is None else f"{clock(seconds)} left"


def clock(seconds: float) -> str:
    """`0:07`, `12:30`, `1:02:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def spent(seconds: float) -> str:
    """`4.2 s` below a minute, above it as on a clock."""
    return f"{seconds:.1f} s" if seconds < 59.95 else clock(seconds)
