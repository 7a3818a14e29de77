"""Processes that take CPU time from the conversions: on the same CPUs, as a neighbour or a cron job would."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

TURN_S = 0.02  # a hog computes for its share of this, then sleeps


@contextmanager
def hogs(count: int, duty: float) -> Iterator[list[int]]:
    """So many while the block runs. Gives their process ids; CPUs are inherited."""
    command = [sys.executable, "-S", __file__, str(duty), str(os.getpid())]
    started = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()


def hog(duty: float, parent: int) -> None:
    """Compute until whoever started it is gone, also where that was killed."""
    while os.getppid() == parent:
        begun = time.perf_counter()
        while time.perf_counter() - begun < TURN_S * duty:
            sum(range(1000))
        if duty < 1:
            time.sleep(TURN_S * (1 - duty))


if __name__ == "__main__":
    hog(float(sys.argv[1]), int(sys.argv[2]))
