"""Memory pressure: pages of a process that come from files are taken away, so that using them reads the disk.

That is what happens to a function whose memory is full: without swap, the pages of libraries are the ones that
can go. process_madvise(2) with MADV_PAGEOUT does it from outside, from Linux 5.10 on, for processes of one's own.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from infra.errors import BadRequest

PROCESS_MADVISE, MADV_PAGEOUT = 440, 21  # the number is the same on all architectures since 5.10
AT_ONCE = 1024  # UIO_MAXIOV


class Range(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("start", ctypes.c_void_p), ("length", ctypes.c_size_t))


@contextmanager
def paging(pids: Callable[[], Sequence[int]], every_s: float) -> Iterator[None]:
    """Take pages of these processes away, again and again while the block runs. Raises BadRequest if it cannot."""
    if not every_s:
        yield
        return
    for pid in pids():
        page_out(pid)
    over = threading.Event()

    def press() -> None:
        while not over.wait(every_s):
            for pid in pids():
                with suppress(BadRequest):  # it has ended
                    page_out(pid)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def page_out(pid: int) -> None:
    """Once, all of it. Raises BadRequest where the system has no such call, or refuses it."""
    try:
        ranges = _from_files(pid)
        handle = os.pidfd_open(pid)
    except (OSError, AttributeError) as error:
        raise BadRequest(f"pages of process {pid} cannot be taken away: {error}") from None
    try:
        for first in range(0, len(ranges), AT_ONCE):
            _advise(handle, ranges[first : first + AT_ONCE])
    finally:
        os.close(handle)


def major_faults(pid: int) -> int:
    """Since it began (proc(5), the 12th field of stat)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[9])


def _from_files(pid: int) -> list[Range]:
    """Mappings of files that are only read: code and constants."""
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        span, rights, _, _, inode, *_ = line.split()
        if inode != "0" and rights[1] == "-":
            start, end = (int(part, 16) for part in span.split("-"))
            found.append(Range(start, end - start))
    return found


def _advise(handle: int, ranges: Sequence[Range]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    vector = (Range * len(ranges))(*ranges)
    if libc.syscall(PROCESS_MADVISE, handle, vector, ctypes.c_size_t(len(ranges)), MADV_PAGEOUT, 0) < 0:
        raise BadRequest(f"process_madvise: {os.strerror(ctypes.get_errno())}")
