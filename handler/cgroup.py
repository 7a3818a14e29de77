"""What the cgroups that this process is in allow it, in version 2 and in version 1 (cgroups(7)).

A container sees its own cgroup as the root of what is mounted; a service of systemd is some levels below it. Each
level above a process bounds it too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def levels(controller: str, root: Path = ROOT, membership: Path = MEMBERSHIP) -> Iterator[Path]:
    """Folders of the cgroups that bound this process, from its own up, some of which may not be there."""
    for line in read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = root / controller if controllers else root
        # In a container, version 1 names the host's folders, and ".." are of a namespace that is not ours.
        parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
        yield from (base.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1))


def cpus(root: Path = ROOT, membership: Path = MEMBERSHIP) -> float:
    """CPUs that the quota leaves, of which a fraction may be one; infinite where there is none."""
    return min((_quota(folder) for folder in levels("cpu", root, membership)), default=math.inf)


def read(path: Path) -> str:
    """The text of a file, nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _quota(folder: Path) -> float:
    said = read(folder / "cpu.max").split() or [
        read(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    ]
    if not all(one.isdecimal() for one in said):  # "max 100000", or -1, or nothing
        return math.inf
    quota, period = map(int, said)
    return round(quota / period, 2) if period else math.inf
