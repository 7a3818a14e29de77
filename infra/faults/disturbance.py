"""What processes that are none of ours took of the CPUs: a run without a fault must have had no neighbours.

What is decided by this is decided before anyone has looked at a diagnosis.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from infra.errors import BadRequest

MOST = 0.2  # CPUs: a tenth of two; the system itself takes some hundredths
WINDOW = 3  # readings that make up what is judged, so that a short neighbour counts too
EVERY_S = 1.0
PATIENCE_S = 60.0


class Disturbed(BadRequest):
    """The machine was not quiet."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Seconds: of the clock, of all on our CPUs (steal time too), of this process and all that it started."""

    at: float
    busy: float
    ours: float

    @classmethod
    def now(cls) -> Reading:
        return cls(time.perf_counter(), _busy(), _ours())

    def others(self, earlier: Reading) -> float:
        """CPUs that were taken by others since."""
        taken = (self.busy - earlier.busy) - (self.ours - earlier.ours)
        return round(max(0.0, taken / (self.at - earlier.at)), 2)


@dataclass
class Watch:
    """`most` is what others took in their worst window, in CPUs."""

    most: float = 0.0


def wait_until_quiet(patience_s: float = PATIENCE_S) -> None:
    """Wait for a window in which others let the CPUs be. Raises Disturbed where none comes."""
    until = time.monotonic() + patience_s
    while (taken := _window()) > MOST:
        if time.monotonic() > until:
            raise Disturbed(f"other processes take {taken} CPUs all the time: end them, or take --noisy")


def _window() -> float:
    begun = Reading.now()
    time.sleep(EVERY_S)
    return Reading.now().others(begun)


@contextmanager
def watch() -> Iterator[Watch]:
    """While the block runs, which should be for some seconds."""
    found, over, readings = Watch(), threading.Event(), [Reading.now()]

    def read() -> None:
        while not over.wait(EVERY_S):
            readings.append(Reading.now())

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()
        found.most = worst([*readings, Reading.now()])


def worst(readings: Sequence[Reading]) -> float:
    """Of all windows; of what there is, where that is less than one. The last readings may lie close together."""
    width = min(WINDOW, len(readings) - 1)
    return max(later.others(earlier) for earlier, later in zip(readings, readings[width:], strict=False))


def _busy() -> float:
    import psutil

    times = psutil.cpu_times(percpu=True)
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(times))
    return sum(sum(times[cpu]) - _idle(times[cpu]) for cpu in mine)


def _idle(times: object) -> float:
    """Guests' time is in the users' already (proc(5))."""
    return sum(float(getattr(times, name, 0.0)) for name in ("idle", "iowait", "guest", "guest_nice"))


def _ours() -> float:
    """Of this process, of its children that have ended, and of those that have not."""
    import psutil

    ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    total = sum(used.ru_utime + used.ru_stime for used in ended)
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total
