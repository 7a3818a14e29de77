"""One run: processes started, two halves of traffic, the fault made, and the log that came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median

from infra.errors import BadRequest
from infra.faults import disturbance, traffic
from infra.faults.disturbance import Disturbed
from infra.faults.fleet import Fleet
from infra.faults.hogs import hogs
from infra.faults.paging import major_faults, paging
from infra.faults.pictures import Wish, wishes
from infra.faults.place import Place, pinned, place
from infra.faults.scenario import Half, Run, Scenario

LOG = "log.jsonl"
PROCESSES = "processes"  # a file each, while they run
LEAST_FAULTS = 5  # of a conversion, for paging to be there


@dataclass
class Seen:
    """What was seen of a run from outside, by half."""

    medians_ms: list[float] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    major_faults: list[int] = field(default_factory=list)
    others: list[float] = field(default_factory=list)  # CPUs that processes which are none of ours took
    changed_at: float = 0.0  # seconds since 1970

    def add(self, half: traffic.Traffic, faults: int, others: float) -> None:
        self.medians_ms.append(round(1000 * median(half.seconds), 1))
        self.refused.append(half.refused)
        self.major_faults.append(faults)
        self.others.append(others)


def perform(run: Run, folder: Path, styles: Path, noisy: bool = False) -> Seen:
    """Leaves LOG in `folder`: all that the processes printed. Raises BadRequest, NotInstalled.

    Raises Disturbed where other processes took more of the CPUs than they may, unless that is taken (`noisy`).
    """
    random, scenario = Random(run.name), run.scenario
    halves = zip((scenario.before, scenario.after), scenario.conversions, strict=True)
    asked = [wishes(half, count, random) for half, count in halves]
    logs = folder / PROCESSES
    logs.mkdir(parents=True)
    try:
        with pinned(), place(scenario.target, logs, styles) as here:
            pace = _measured(scenario, here, logs, run.name)
            return _Performance(scenario, here, random, noisy, pace).both(asked)
    finally:
        _gather(logs, folder / LOG)


def _measured(scenario: Scenario, here: Place, logs: Path, name: str) -> traffic.Pace | None:
    """By processes of their own, whose log is no part of the run; None where nobody comes on their own."""
    if not (scenario.before.load or scenario.after.load):
        return None
    with here.fleet(scenario.before) as fleet:
        found = traffic.Pace.of(fleet, wishes(scenario.before, 2 * traffic.MEASURED, Random(f"{name} measured")))
    for log in logs.iterdir():
        log.unlink()
    return found


@dataclass
class _Performance:
    scenario: Scenario
    place: Place
    random: Random
    noisy: bool
    pace: traffic.Pace | None
    seen: Seen = field(default_factory=Seen)

    def both(self, asked: Sequence[Sequence[Wish]]) -> Seen:
        before, after = self.scenario.before, self.scenario.after
        with ExitStack() as stack:
            fleet = stack.enter_context(self.place.fleet(before))
            self._half(before, fleet, asked[0])
            self.seen.changed_at = time.time()
            if self.scenario.restarts:
                stack.close()
                fleet = stack.enter_context(self.place.fleet(after))
            self._half(after, fleet, asked[1])
        return self.seen

    def _half(self, half: Half, fleet: Fleet, asked: Sequence[Wish]) -> None:
        self.place.delays.clear()
        self.place.delays.update(half.delays)
        faults = _faults(fleet)
        with hogs(half.hogs, half.hog_duty), paging(fleet.pids, half.paging_s), disturbance.watch() as others:
            found = traffic.run(half, fleet, asked, self.random, self.pace)
        if not found.seconds:
            raise BadRequest("no picture came back")
        self.seen.add(found, _faults(fleet) - faults, others.most)
        self._check(half, len(found.seconds))

    def _check(self, half: Half, conversions: int) -> None:
        others, faults = self.seen.others[-1], self.seen.major_faults[-1]
        if others > disturbance.MOST and not self.noisy:
            raise Disturbed(f"other processes took up to {others} CPUs")
        # The kernel keeps pages that another process has mapped too: one with the same libraries spoils it.
        if half.paging_s and faults < LEAST_FAULTS * conversions:
            raise Disturbed(f"{faults} major faults in {conversions} conversions: others use the same libraries")


def _faults(fleet: Fleet) -> int:
    try:
        return sum(major_faults(pid) for pid in fleet.pids())
    except OSError:  # no /proc, or it has just ended
        return 0


def _gather(logs: Path, log: Path) -> None:
    """One log of all processes', in the order in which they began."""
    parts = sorted(logs.iterdir())
    log.write_bytes(b"".join(part.read_bytes() for part in parts))
    for part in parts:
        part.unlink()
    logs.rmdir()
