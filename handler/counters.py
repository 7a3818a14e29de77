"""What the kernel counts in files of /proc: this process's resident memory, time that a hypervisor took, load.

psutil and os open, read and parse a file for each. Right after a conversion, whose tensors have pushed all else
out of the CPU's caches, that is two fifths of what recorder and log line cost; reading a file that stays open is a
third of it (docs/performance.md). Where there are no such files, psutil is asked.
"""

from __future__ import annotations

import os
from functools import cache

MEMORY, CPUS, LOAD = "/proc/self/statm", "/proc/stat", "/proc/loadavg"
RESIDENT, STEAL = 1, 8  # the fields of proc(5), from 0
LONGEST = 192  # bytes in which they are

_page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
_tick = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0


def resident() -> int:
    """Bytes of memory that this process has now."""
    try:
        return _field(MEMORY, RESIDENT) * _page
    except (OSError, ValueError, IndexError):
        import psutil

        return int(psutil.Process().memory_info().rss)


def stolen() -> float:
    """Seconds that the hypervisor gave to others since the machine began, over all CPUs; 0.0 if not known."""
    try:
        return _field(CPUS, STEAL) / _tick
    except (OSError, ValueError, IndexError):
        import psutil

        return float(getattr(psutil.cpu_times(), "steal", 0.0))


def load_average() -> list[float]:
    """Processes that ran or wanted to, over 1, 5 and 15 minutes."""
    try:
        return [float(value) for value in _fields(LOAD)[:3]]
    except (OSError, ValueError):
        return [round(value, 2) for value in os.getloadavg()]


def _field(path: str, number: int) -> int:
    return int(_fields(path)[number])


def _fields(path: str) -> list[bytes]:
    return os.pread(_kept(path), LONGEST, 0).split(None, STEAL + 1)


@cache
def _kept(path: str) -> int:
    """A file descriptor, which a program that is started does not inherit."""
    return os.open(path, os.O_RDONLY)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.cache_clear)  # /proc/self is of the process that opened it
