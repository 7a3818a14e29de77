"""The stage recorder: wall time, CPU time, page faults and lost turns of each step of a conversion.

CPU time and page faults come from getrusage, which counts microseconds; psutil's process times come in
clock ticks of 10 ms, longer than most stages. Steal time comes from psutil.
"""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, field
from types import TracebackType

import psutil

STAGES = ("decode", "preprocess", "inference", "postprocess", "encode")
# With what applies only at times: the wait for a slot, faces, and a photo's way from S3 and its picture's back.
TIMED = ("queue", "s3_get", *STAGES[:-1], "face", *STAGES[-1:], "s3_put")


@dataclass(slots=True)
class Usage:
    """What was used between two readings of this process. Seconds and counts."""

    wall: float = 0.0
    cpu: float = 0.0
    minor_faults: int = 0
    major_faults: int = 0
    involuntary_switches: int = 0

    @classmethod
    def now(cls) -> Usage:
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu = used.ru_utime + used.ru_stime
        return cls(time.perf_counter(), cpu, used.ru_minflt, used.ru_majflt, used.ru_nivcsw)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.wall + other.wall,
            self.cpu + other.cpu,
            self.minor_faults + other.minor_faults,
            self.major_faults + other.major_faults,
            self.involuntary_switches + other.involuntary_switches,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.wall - other.wall,
            self.cpu - other.cpu,
            self.minor_faults - other.minor_faults,
            self.major_faults - other.major_faults,
            self.involuntary_switches - other.involuntary_switches,
        )


@dataclass(slots=True)
class Stage:
    """One stage as a context manager; entering it again adds to what it has used."""

    used: dict[str, Usage]
    name: str
    entered: Usage = field(default_factory=Usage)

    def __enter__(self) -> None:
        self.entered = Usage.now()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.used[self.name] = self.used.get(self.name, Usage()) + (Usage.now() - self.entered)


class Stages:
    """The recorder of one conversion: `with stages("decode"): …`. It starts when it is made."""

    def __init__(self, queued: float = 0.0) -> None:
        """`queued` is the time in seconds that the conversion waited for a slot."""
        self.used: dict[str, Usage] = {"queue": Usage(wall=queued)} if queued else {}
        self._begun = Usage.now()
        self._steal = _steal()

    def __call__(self, name: str) -> Stage:
        return Stage(self.used, name)

    def timings(self) -> dict[str, float]:
        """Milliseconds per stage in the order of the pipeline, `total` last; as in Server-Timing."""
        spent = {name: milliseconds(self.used[name].wall) for name in TIMED if name in self.used}
        return {**spent, "total": milliseconds(self.total().wall + self.queued)}

    def total(self) -> Usage:
        """Everything used since the start, stages or not; the wait in the queue is not in it."""
        return Usage.now() - self._begun

    @property
    def queued(self) -> float:
        return self.used["queue"].wall if "queue" in self.used else 0.0

    def stolen(self) -> float:
        """Seconds that the hypervisor gave to others meanwhile, over all CPUs."""
        return _steal() - self._steal


def milliseconds(seconds: float) -> float:
    """Rounded to 10 µs, the least that means anything here."""
    return round(seconds * 1000, 2)


def _steal() -> float:
    return float(getattr(psutil.cpu_times(), "steal", 0.0))  # Linux only
