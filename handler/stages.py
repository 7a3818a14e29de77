"""The stage recorder: wall and CPU time of each step of a conversion; page faults and lost turns of the whole.

CPU time is the kernel's own count of this process, in nanoseconds. psutil's process times come in clock ticks of
10 ms, longer than most stages.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from handler import counters

STAGES = ("decode", "preprocess", "inference", "postprocess", "encode")
# With what applies only at times: the wait for a slot, faces, and a photo's way from S3 and its picture's back.
TIMED = ("queue", "s3_get", *STAGES[:-1], "face", *STAGES[-1:], "s3_put")


@dataclass(slots=True)
class Usage:
    """What a conversion used of its process: seconds and counts."""

    wall: float
    cpu: float
    minor_faults: int
    major_faults: int
    involuntary_switches: int

    @classmethod
    def now(cls) -> Usage:
        """Of the process up to here; `wall` has no meaning by itself."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        wall, cpu = time.perf_counter(), time.process_time()
        return cls(wall, cpu, used.ru_minflt, used.ru_majflt, used.ru_nivcsw)

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.wall - other.wall,
            self.cpu - other.cpu,
            self.minor_faults - other.minor_faults,
            self.major_faults - other.major_faults,
            self.involuntary_switches - other.involuntary_switches,
        )


class Stage:
    """What one stage has used, in seconds of the clock and of all CPUs together. Time within `with` is added."""

    __slots__ = ("cpu", "cpu_before", "wall", "wall_before")

    def __init__(self, wall: float = 0.0) -> None:
        self.wall, self.cpu = wall, 0.0

    def __enter__(self) -> None:
        self.wall_before, self.cpu_before = time.perf_counter(), time.process_time()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.wall += time.perf_counter() - self.wall_before
        self.cpu += time.process_time() - self.cpu_before


class Stages:
    """The recorder of one conversion: `with stages("decode"): …`. It starts when it is made."""

    kind: Callable[[], Stage] = Stage

    def __init__(self, queued: float = 0.0) -> None:
        """`queued` is the time in seconds that the conversion waited for a slot."""
        self.used = {"queue": Stage(queued)} if queued else {}
        self._stolen = counters.stolen()
        self._begun = Usage.now()

    def __call__(self, name: str) -> Stage:
        if name not in self.used:
            self.used[name] = self.kind()
        return self.used[name]

    def timings(self) -> dict[str, float]:
        """Milliseconds per stage in the order of the pipeline, `total` last; as in Server-Timing."""
        total = time.perf_counter() - self._begun.wall + self.queued
        spent = {name: milliseconds(self.used[name].wall) for name in TIMED if name in self.used}
        return {**spent, "total": milliseconds(total)}

    def total(self) -> Usage:
        """Everything used since the start, stages or not; the wait in the queue is not in it."""
        return Usage.now() - self._begun

    @property
    def queued(self) -> float:
        return self.used["queue"].wall if "queue" in self.used else 0.0

    def stolen(self) -> float:
        """Seconds that the hypervisor gave to others meanwhile, over all CPUs."""
        return counters.stolen() - self._stolen


def milliseconds(seconds: float) -> float:
    """Rounded to 10 µs, the least that means anything here."""
    return round(seconds * 1000, 2)
