"""`animegan serve` in processes of its own: with so many threads and slots, and its log in a file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.errors import BadRequest

SERVE = (sys.executable, "-m", "infra.cli", "serve", "--port", "0")
START_S = 120.0  # the built-in style may have to be frozen first
STOP_S = 60.0
ADDRESS = re.compile(r"serving on http://([\d.]+):(\d+) ")


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the same CPUs are shared out: processes, conversions at a time in each, threads of each conversion."""

    processes: int
    slots: int
    threads: int

    def __str__(self) -> str:
        names = ("process", "processes"), ("slot", "slots"), ("thread", "threads")
        counts = (self.processes, self.slots, self.threads)
        return " × ".join(f"{count} {name[count > 1]}" for count, name in zip(counts, names, strict=True))

    @contextmanager
    def served(self, queue: int, folder: Path) -> Iterator[list[Server]]:
        """Its processes, ready, each with a queue so long. Raises BadRequest where one does not start."""
        with ExitStack() as stack:
            logs = [folder / f"{self}.{number}" for number in range(self.processes)]
            yield [stack.enter_context(self._one(queue, log)) for log in logs]

    @contextmanager
    def _one(self, queue: int, log: Path) -> Iterator[Server]:
        said = {"NUM_THREADS": self.threads, "MAX_CONCURRENCY": self.slots, "MAX_QUEUE": queue}
        said |= {"CACHE_BYTES": 0}  # it is the same photo each time
        environment = {**os.environ, **{name: str(value) for name, value in said.items()}}
        with serving(SERVE, environment, log) as server:
            yield server


@dataclass(frozen=True, slots=True)
class Server:
    process: subprocess.Popen[bytes]
    host: str
    port: int
    log: Path

    def conversions(self) -> dict[str, dict[str, Any]]:
        """Request id -> the line of its conversion."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return {line["request_id"]: line for line in lines if line["event"] == "conversion"}

    def memory_mib(self) -> float:
        import psutil

        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20


@contextmanager
def serving(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[Server]:
    """A server in a process of its own, ready, with all that it prints in `log`. Raises BadRequest where it does
    not start.
    """
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
    try:
        yield Server(process, *_address(process, log), log)
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> tuple[str, int]:
    until = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < until:
        if found := ADDRESS.search(log.read_text()):
            return found[1], int(found[2])
        time.sleep(0.05)
    last = (log.read_text().strip().splitlines() or ["it does not say why"])[-1]
    raise BadRequest(f"`animegan serve` does not start: {last}")
