"""Files that are written aside until they are whole, and what a killed process has left of them.

A name tells who writes: this kernel's boot and process namespace, the process and when it began. So neither a
process of another machine or container on a shared folder, nor a later one of the same number, is taken for the
writer. What these cannot be told of, as where there is no /proc, is left.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

NAME = re.compile(r"\.animegan-([0-9a-f]+)-([1-9][0-9]*)-([0-9]+)\.part(?:\.[a-z0-9]+)?")
UNKNOWN = "0"
ENDED = ("Z", "X")  # states of processes that only wait for their parent to look (proc(5))


def aside(target: Path, suffix: str = "") -> Path:
    """Where `target` is written by this process until it is whole.

    Not tempfile's, whose files nobody else may read; hidden, so that a left-over is no photo; short, as names may
    be as long as the file system takes.
    """
    pid = os.getpid()
    return target.with_name(f".animegan-{_here()}-{pid}-{_begun(pid) or UNKNOWN}.part{suffix}")


@cache
def clear(folder: Path) -> None:
    """Remove what processes of this machine that have ended left in `folder`; looks once in a process."""
    for path in _left(folder):
        with suppress(OSError):
            path.unlink()


def _left(folder: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            match = NAME.fullmatch(entry.name)
            if match and entry.is_file(follow_symlinks=False) and _has_ended(match[1], int(match[2]), match[3]):
                yield Path(entry.path)


def _has_ended(where: str, pid: int, begun: str) -> bool:
    """Whether that process certainly runs no more; False where in doubt."""
    if where != _here() or UNKNOWN in (where, begun):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # somebody else's: it runs, but may be a later one
        pass
    now = _begun(pid)
    return now is not None and now != begun


def _begun(pid: int) -> str | None:
    """When a process began, in ticks since boot; "ended" for one that has, None where it cannot be told."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return "ended" if fields[0] in ENDED else fields[19]


@cache
def _here() -> str:
    """A digest of this boot and process namespace; UNKNOWN where they cannot be told."""
    try:
        if os.readlink("/proc/self") != str(os.getpid()):  # /proc is of another namespace, with other numbers
            return UNKNOWN
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return hashlib.sha256(f"{boot}{os.readlink('/proc/self/ns/pid')}".encode()).hexdigest()[:12]
    except OSError:
        return UNKNOWN
