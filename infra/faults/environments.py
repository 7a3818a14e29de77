"""Environments of the emulator, each a process of its own (worker.py), and those that follow one another."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.errors import BadRequest
from infra.faults.pictures import Wish
from infra.faults.scenario import Half

COMMAND = (sys.executable, "-m", "infra.faults.worker")
MEMORY_MB = {1: 3538, 2: 1769}  # by environments at a time: together, two vCPUs
STOP_S = 30.0

Event = Callable[[Wish], dict[str, Any]]


@dataclass
class Environment:
    """One process, and how often it was invoked."""

    process: subprocess.Popen[bytes]
    asked: int = 0

    def invoke(self, event: Mapping[str, Any]) -> bool:
        """Raises BadRequest where the process is gone."""
        self.asked += 1
        assert self.process.stdin
        assert self.process.stdout
        try:
            self.process.stdin.write(json.dumps(event).encode() + b"\n")
            self.process.stdin.flush()
            return bool(json.loads(self.process.stdout.readline()))
        except (OSError, ValueError):
            raise BadRequest("an environment of the emulator has ended: its log says why") from None

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass
class Environments:
    """`processes` places; in each is one environment at a time, which does one conversion at a time."""

    half: Half
    variables: Mapping[str, str]
    log: Callable[[], Path]
    event: Event
    there: dict[int, Environment] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._turns = [threading.Lock() for _ in range(self.half.processes)]

    def ask(self, client: int, wish: Wish) -> bool:
        place = client % self.half.processes
        with self._turns[place]:
            environment = self.there.get(place) or self._start(place)
            if not environment.invoke(self.event(wish)):
                raise BadRequest("the function failed: its log says why")
            if environment.asked == self.half.lifetime:
                self.there.pop(place).close()
        return True

    def pids(self) -> list[int]:
        return [environment.process.pid for environment in list(self.there.values())]

    def close(self) -> None:
        while self.there:
            self.there.popitem()[1].close()

    def _start(self, place: int) -> Environment:
        """It begins with the event that waits for it, as in Lambda: a cold start."""
        memory = self.half.memory_mb or MEMORY_MB.get(self.half.processes, min(MEMORY_MB.values()))
        command = [*COMMAND, str(memory), str(self.half.leak_mib)]
        pipe = subprocess.PIPE
        with self.log().open("wb") as err:
            process = subprocess.Popen(command, env=dict(self.variables), stdin=pipe, stdout=pipe, stderr=err)
        self.there[place] = Environment(process)
        return self.there[place]


@contextmanager
def environments(
    half: Half, variables: Mapping[str, str], log: Callable[[], Path], event: Event
) -> Iterator[Environments]:
    """Started when they are asked; `event` makes of a wish what the function gets."""
    found = Environments(half, variables, log, event)
    try:
        yield found
    finally:
        found.close()
