"""What a run does, as plain data: two halves of traffic, and what is different in the second."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

Kind = Literal["jpeg", "progressive", "png", "webp", "tiff"]
Target = Literal["serve", "http_event", "s3_event"]
Set = Literal["tune", "held"]

CLEAN = "no_change"


@dataclass(frozen=True, slots=True)
class Photos:
    """Photos with sides from `least` to `most` pixels, and what is asked for with them.

    There are `distinct` of them, asked for over and over; a share `new` of questions comes with one never seen.
    """

    least: int
    most: int
    kind: Kind = "jpeg"
    query: dict[str, str] = field(default_factory=dict)
    distinct: int = 12
    new: float = 0.0


@dataclass(frozen=True, slots=True)
class Half:
    """Traffic, the processes that serve it, and the faults meanwhile. Each question takes one of `photos`."""

    photos: tuple[Photos, ...]
    clients: int = 1  # each asks anew when it is answered
    load: float = 0.0  # if not 0, questions come on their own instead, so many times what can be served
    burst: int = 1  # so many at once
    processes: int = 1
    lifetime: int = 0  # invocations after which an environment is replaced by a new one; 0: never
    memory_mb: int = 0  # of an environment of the emulator; 0: two vCPUs' for all of them together
    variables: dict[str, str] = field(default_factory=dict)
    leak_mib: float = 0.0  # kept of each conversion, for ever
    hogs: int = 0  # processes that compute on the same CPUs
    hog_duty: float = 1.0  # the share of the time that each of them does
    paging_s: float = 0.0  # if not 0, file-backed pages are taken away so often
    delays: dict[str, float] = field(default_factory=dict)  # S3's, by method, in seconds

    def environment(self) -> tuple[object, ...]:
        """What processes are started with: where it differs, there have to be new ones."""
        return self.processes, self.lifetime, self.memory_mb, self.variables, self.leak_mib


@dataclass(frozen=True, slots=True)
class Scenario:
    """`conversions` in each half. Between them processes stay, unless the halves need others, or `restart`."""

    target: Target
    before: Half
    after: Half
    conversions: tuple[int, int] = (48, 48)
    restart: bool = False

    @property
    def restarts(self) -> bool:
        return self.restart or self.before.environment() != self.after.environment()

    def then(self, **changes: Any) -> Scenario:
        """The same with these in the second half."""
        return replace(self, after=replace(self.after, **changes))

    def always(self, **changes: Any) -> Scenario:
        """The same with these in both halves, which are otherwise as the first."""
        half = replace(self.before, **changes)
        return replace(self, before=half, after=half)

    def on(self, target: Target) -> Scenario:
        return replace(self, target=target)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the plan. `set` says whether the rules may have been tuned on it."""

    set: Set
    cause: str
    number: int
    scenario: Scenario
    strength: dict[str, Any] = field(default_factory=dict)  # of the fault, for people

    @property
    def name(self) -> str:
        return f"{self.cause}-{self.set[0]}{self.number:02}"

    @property
    def injected(self) -> bool:
        return self.cause != CLEAN
