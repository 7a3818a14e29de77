"""Bounded concurrency: so many conversions at a time, so many waiting, the rest are told when to return.

Conversions run on threads of their own, so that a server's event loop stays free for /health, and always
on the same ones, since torch keeps a pool of workers for each thread that calls it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from handler.errors import Busy

T = TypeVar("T")
RECENT = 0.2  # weight of the latest conversion in the running mean of their durations


class Slots:
    """`submit` queues work, which is given the seconds that it waited."""

    def __init__(self, concurrency: int, max_queue: int) -> None:
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="conversion")
        self._concurrency, self._most = concurrency, concurrency + max_queue
        self._inside = 0
        self._mean_duration = 1.0
        self._lock = threading.Lock()

    def submit(self, work: Callable[[float], T]) -> Future[T]:
        """Work that is cancelled before its turn gives up its place. Raises Busy when all are taken."""
        with self._lock:
            if self._inside >= self._most:
                raise self._busy()
            self._inside += 1
        turn = [work]
        future = self._pool.submit(self._run, turn, time.perf_counter())
        future.add_done_callback(lambda done: self._give_up(turn) if done.cancelled() else None)
        return future

    def _run(self, turn: list[Callable[[float], T]], submitted: float) -> T:
        begun = time.perf_counter()
        try:
            return turn.pop()(begun - submitted)
        finally:
            with self._lock:
                self._inside -= 1
                self._mean_duration += RECENT * (time.perf_counter() - begun - self._mean_duration)

    def _give_up(self, turn: list[Callable[[float], T]]) -> None:
        turn.clear()  # the pool keeps cancelled work until a thread is free, and this one has a photo in it
        with self._lock:
            self._inside -= 1

    def _busy(self) -> Busy:
        wait = math.ceil(self._inside / self._concurrency * self._mean_duration)
        return Busy(f"{self._inside} conversions are under way or waiting; try again in {wait} s.", wait)
