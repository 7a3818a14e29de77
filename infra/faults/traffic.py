"""Clients: those who ask anew when they are answered, and those who come on their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from statistics import fmean

from infra.errors import BadRequest
from infra.faults.fleet import Fleet
from infra.faults.pictures import Wish
from infra.faults.scenario import Half

MEASURED = 10  # conversions by which either pace is told; the first is slow and does not count


@dataclass
class Traffic:
    """What clients saw of a half: seconds that each answer took, and how often they were told to come back."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    lost: list[str] = field(default_factory=list)

    def ask(self, fleet: Fleet, client: int, wish: Wish) -> bool:
        """False once something is lost: then the run is of no use."""
        begun = time.perf_counter()
        try:
            served = fleet.ask(client, wish)
        except BadRequest as error:
            self.lost.append(str(error))
            return False
        if served:
            self.seconds.append(time.perf_counter() - begun)
        else:
            self.refused += 1
        return True


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds that a conversion takes: with a pause after each, as on an idle server, and one after the other."""

    idle: float
    busy: float

    @classmethod
    def of(cls, fleet: Fleet, wishes: Sequence[Wish]) -> Pace:
        """Measured, half of the wishes each. Raises BadRequest where an answer was lost."""
        middle, took = len(wishes) // 2, []
        for part, pause in ((wishes[:middle], True), (wishes[middle:], False)):
            seen = Traffic()
            _in_turn(fleet, iter(part), seen, 1, pause)
            _whole(seen)
            took.append(fmean(seen.seconds[1:]))
        return cls(*took)

    def between(self, half: Half) -> float:
        """Seconds between two bursts, so that `load` times what can be served is asked for."""
        return half.burst * (self.busy if half.load > 1 else self.idle) / half.load


def run(half: Half, fleet: Fleet, wishes: Sequence[Wish], random: Random, pace: Pace | None = None) -> Traffic:
    """Ask for all; questions that come on their own need a `pace`. Raises BadRequest where an answer was lost."""
    seen = Traffic()
    if half.load and pace:
        _on_their_own(fleet, iter(wishes), seen, half, pace.between(half), random)
    else:
        _in_turn(fleet, iter(wishes), seen, half.clients)
    _whole(seen)
    return seen


def _whole(seen: Traffic) -> None:
    if seen.lost:
        raise BadRequest(seen.lost[0])


def _in_turn(fleet: Fleet, wishes: Iterator[Wish], seen: Traffic, clients: int, pause: bool = False) -> None:
    """`pause` for as long as the answer took: after idleness a conversion takes longer than one of a series."""

    taking = threading.Lock()

    def client(number: int) -> None:
        while True:
            with taking:
                wish = next(wishes, None)
            if wish is None or seen.lost or not seen.ask(fleet, number, wish):
                return
            if pause and seen.seconds:
                time.sleep(seen.seconds[-1])

    _all(threading.Thread(target=client, args=(number,)) for number in range(clients))


def _on_their_own(
    fleet: Fleet, wishes: Iterator[Wish], seen: Traffic, half: Half, between_s: float, random: Random
) -> None:
    """Bursts at random times (Poisson), with `between_s` from one to the next on average."""
    coming: list[threading.Thread] = []
    due = time.perf_counter()
    while burst := list(islice(wishes, half.burst)):
        time.sleep(max(0.0, due - time.perf_counter()))
        for wish in burst:
            coming.append(threading.Thread(target=seen.ask, args=(fleet, len(coming), wish)))
            coming[-1].start()
        due += random.expovariate(1 / between_s)
    for thread in coming:
        thread.join()


def _all(threads: Iterator[threading.Thread]) -> None:
    started = list(threads)
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
