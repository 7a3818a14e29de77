"""Clients: those who ask anew when they are answered, and those who come on their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from statistics import fmean, median

from infra.errors import BadRequest
from infra.faults.fleet import Fleet
from infra.faults.pictures import Wish
from infra.faults.scenario import Half

MEASURED = 10  # conversions by which it is told what can be served; the first is slow and does not count


@dataclass
class Traffic:
    """What clients saw of a half: seconds that each answer took, and how often they were told to come back."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    service_s: float | None = None  # what one conversion takes, as far as that can be told

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


def run(half: Half, fleet: Fleet, wishes: Sequence[Wish], random: Random, service_s: float | None) -> Traffic:
    """Ask for all of them. `service_s` is what one conversion takes, where that is known: a half whose questions
    come on their own measures it first, and so does one that asks for more than can be served, without pauses, as
    conversions are quicker one after the other.

    Raises BadRequest where an answer was lost.
    """
    seen, left = Traffic(service_s=service_s), iter(wishes)
    if half.load > 1 or (half.load and not service_s):
        _in_turn(fleet, islice(left, MEASURED), seen, 1, pause=half.load <= 1)
        seen.service_s = fmean(seen.seconds[1:]) if len(seen.seconds) > 1 else None
    if half.load and seen.service_s:
        _on_their_own(fleet, left, seen, half, random)
    else:
        _in_turn(fleet, left, seen, half.clients)
        seen.service_s = median(seen.seconds) / half.clients if seen.seconds else None
    if seen.lost:
        raise BadRequest(seen.lost[0])
    return seen


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


def _on_their_own(fleet: Fleet, wishes: Iterator[Wish], seen: Traffic, half: Half, random: Random) -> None:
    """Bursts at random times (Poisson), so that `load` times what can be served is asked for."""
    assert seen.service_s
    between_s = half.burst * seen.service_s / half.load
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
