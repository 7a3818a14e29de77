"""Many clients against a server: in turns with one client, so that what else the machine does meets both alike."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.bench.clients import Answer, Phase
from infra.bench.made_up import jpeg
from infra.bench.queueing import waits
from infra.bench.server import Arrangement, Server
from infra.errors import BadRequest

WARM_UP_S = 0.5


@dataclass
class Measured:
    """One arrangement, round by round. `alone` are back-to-back conversions, of the first arrangement only."""

    arrangement: Arrangement
    alone: list[Phase] = field(default_factory=list)
    together: list[Phase] = field(default_factory=list)
    lines: dict[str, dict[str, Any]] = field(default_factory=dict)
    memory_mib: float = 0.0

    def steady(self) -> list[Answer]:
        """Without each client's first, which found the queue still filling."""
        return [answer for phase in self.together for answer in phase.answers if answer.turn]

    def queued(self, answer: Answer) -> float:
        """Seconds, as its log line has them."""
        return float(self.lines[answer.id].get("QueueDuration", [0.0])[0]) / 1000

    def expected(self, clients: int, queue: int) -> list[float]:
        """What queueing lets its clients wait, by the times that its conversions took."""
        slots = self.arrangement.processes * self.arrangement.slots
        inside = min(clients, slots + self.arrangement.processes * queue)
        found = []
        for phase in self.together:
            in_order = sorted(phase.answers, key=lambda answer: answer.came)
            found += waits([self.logged(answer) - self.queued(answer) for answer in in_order], inside, slots)
        return found

    def logged(self, answer: Answer) -> float:
        """Seconds with the wait, as its log line has them."""
        return float(self.lines[answer.id]["Duration"][0]) / 1000


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of each arrangement."""

    clients: int
    seconds: float
    rounds: int
    side: int
    queue: int

    def measure(self, arrangements: Sequence[Arrangement], say: Callable[[str], None]) -> list[Measured]:
        """Raises BadRequest where a server does not start, or nothing comes of it."""
        photo = jpeg(self.side, self.side)
        found = [Measured(arrangement) for arrangement in arrangements]
        with tempfile.TemporaryDirectory(prefix="animegan-bench-") as folder, ExitStack() as stack:
            servers = [stack.enter_context(one.served(self.queue, Path(folder))) for one in arrangements]
            for own in servers:
                Phase(len(own)).run(own, photo, WARM_UP_S)
            for number in range(self.rounds):
                say(f"animegan: round {number + 1} of {self.rounds}")
                self._round(found, servers, photo)
            for one, own in zip(found, servers, strict=True):
                one.lines = {id: line for server in own for id, line in server.conversions().items()}
                one.memory_mib = sum(server.memory_mib() for server in own)
        if not all(one.expected(self.clients, self.queue) for one in found):
            raise BadRequest("too short: each client should get several pictures; give more --seconds")
        return found

    def _round(self, found: Sequence[Measured], servers: Sequence[list[Server]], photo: bytes) -> None:
        found[0].alone.append(self._phase(1, servers[0], photo))
        for one, own in zip(found, servers, strict=True):
            one.together.append(self._phase(self.clients, own, photo))

    def _phase(self, clients: int, servers: Sequence[Server], photo: bytes) -> Phase:
        phase = Phase(clients)
        phase.run(servers, photo, self.seconds)
        if not phase.answers:
            raise BadRequest(f"no picture came back: {'; '.join(phase.lost[:3]) or 'too few --seconds'}")
        return phase
