"""Ctrl-C ends a command at once, by a thread that waits for nothing else.

Python's own way, a KeyboardInterrupt wherever the main thread happens to be, leaves event loops and imports in
their middle. They complain when they are cleared away, and a finalizer or a C library may even swallow it. So
nothing is raised here: that thread does what was asked for with `last`, and the process is gone. Commands that
have more to clear away than that say so with `raised`.

Outside of `taken_over`, as when a command runs in somebody's process, all of this does nothing.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

EXIT_CODE = 130  # 128 + SIGINT, as shells count
PATIENCE_S = 5.0  # for what must not be torn, and does not come to its end

_acts: list[Callable[[], object]] = []
_going_on = threading.Lock()  # the main thread's while it does what must not be torn; the end's, for ever
_has_it = False  # whether the main thread has it
_is_taken_over = False


@contextmanager
def taken_over() -> Iterator[None]:
    """Ctrl-C is dealt with here, in a process that is a command and nothing else: after it, it comes too late."""
    global _is_taken_over
    theirs, ours = os.pipe()
    os.set_blocking(ours, False)
    threading.Thread(target=_end_at_signal, args=(theirs,), daemon=True).start()
    signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
    _is_taken_over = True
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started this has it ignored
        signal.signal(signal.SIGINT, _noted)
    try:
        yield
    finally:
        with whole():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.set_wakeup_fd(-1)


@contextmanager
def sigterm_too() -> Iterator[None]:
    """SIGTERM, and SIGHUP when the terminal is closed, end the command as Ctrl-C does. nohup's are left alone."""
    ours = _noted if _is_taken_over else signal.default_int_handler
    both = (signal.SIGTERM, signal.SIGHUP)
    before = {
        number: signal.signal(number, ours)
        for number in both
        if number == signal.SIGTERM or signal.getsignal(number) is signal.SIG_DFL
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def raised() -> Iterator[None]:
    """KeyboardInterrupt after all, for whoever has processes to end and folders to remove in a `finally`."""
    if not _is_taken_over:
        yield
        return
    if (before := signal.getsignal(signal.SIGINT)) is _noted:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    pipe = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, before)


@contextmanager
def last(act: Callable[[], object]) -> Iterator[None]:
    """Do `act` if the block is ended by Ctrl-C, in a thread while the block goes on; the latest is done first."""
    with whole():
        _acts.append(act)
    try:
        yield
    finally:
        with whole():
            _acts.remove(act)


@contextmanager
def whole() -> Iterator[None]:
    """Ctrl-C waits for the end of the block."""
    with _holding(True):
        yield


@contextmanager
def anywhere() -> Iterator[None]:
    """Inside of `whole`: Ctrl-C may end the process in this block wherever it is."""
    with _holding(False):
        yield


@contextmanager
def _holding(wanted: bool) -> Iterator[None]:
    before = _has_it
    _hold(wanted)
    try:
        yield
    finally:
        _hold(before)


def _hold(wanted: bool) -> None:
    global _has_it
    if wanted and not _has_it:
        _going_on.acquire()
    elif _has_it and not wanted:
        _going_on.release()
    _has_it = wanted


def _noted(number: int, frame: FrameType | None) -> None:
    """The number is in the pipe by now."""


def _end_at_signal(pipe: int) -> None:
    while os.read(pipe, 1)[0] not in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        pass
    _going_on.acquire(timeout=PATIENCE_S)
    for act in reversed(_acts):
        with suppress(Exception):  # nobody is left who could be told
            act()
    os._exit(EXIT_CODE)
