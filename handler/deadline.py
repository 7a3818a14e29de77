"""Calls that are given up when the time is short, whatever they wait for.

boto3's timeouts are those of one silence, so a request of three attempts, or a body that trickles, can outlive
the function. Here the call runs on a thread, and whoever asked stops waiting for it in time. The thread ends by
itself, by boto3's timeouts at the latest. A client for each deadline would lose its connections, and bound
silences only.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread
from typing import TypeVar

from handler.errors import OutOfTime

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Deadline:
    """When `remaining_ms`, which Lambda's context knows, has come down to `reserve_ms`. None: never."""

    remaining_ms: Callable[[], int] | None = None
    reserve_ms: float = 0.0

    def left(self) -> float | None:
        """Seconds, or None for any number. Raises OutOfTime where there are none."""
        if self.remaining_ms is None:
            return None
        if (left := self.remaining_ms() - self.reserve_ms) <= 0:
            raise OutOfTime("Too little time is left to ask S3 for anything.")
        return left / 1000

    def run(self, call: Callable[[], T]) -> T:
        """What `call` returns or raises, or OutOfTime: then nobody waits for it any more, though it may go on."""
        if (left := self.left()) is None:
            return call()
        future: Future[T] = Future()
        Thread(target=_settle, args=(future, call), daemon=True).start()  # a pool would be waited for at exit
        try:
            failed = future.exception(left)
        except TimeoutError:
            raise OutOfTime(f"S3 gave no whole answer in the {left:.1f} s that there were.") from None
        if failed:
            raise failed
        return future.result()


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:
        future.set_exception(error)
