"""The machine's own bounds, from where Linux tells them. Other systems tell fewer."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from handler import cgroup

MIB = 1024 * 1024
# Of cgroup v2 and v1, which says "no limit" with a number near 2**63.
MEMORY = "memory.max", "memory.limit_in_bytes"


def memory_limit(
    environment: Mapping[str, str], root: Path = cgroup.ROOT, membership: Path = cgroup.MEMBERSHIP
) -> tuple[float, str]:
    """(MiB, whose) that a process may use: the Lambda function's, else its cgroups', else all that there is."""
    said = environment.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "")
    if said.isdecimal():
        return float(said), "the function's memory size"
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    files = (folder / name for folder in cgroup.levels("memory", root, membership) for name in MEMORY)
    bounded = min(map(_number, files), default=math.inf)
    return (bounded / MIB, "the cgroup's limit") if bounded < machine else (machine / MIB, "this machine's memory")


def throttled(root: Path = cgroup.ROOT, membership: Path = cgroup.MEMBERSHIP) -> int:
    """How often a CPU quota of the cgroups has stopped their processes; 0 where nobody counts."""
    stats = (cgroup.read(folder / "cpu.stat") for folder in cgroup.levels("cpu", root, membership))
    return sum(int(count) for stat in stats for count in re.findall(r"^nr_throttled (\d+)$", stat, re.MULTILINE))


def free_mib(folder: Path) -> float:
    """Raises OSError."""
    return shutil.disk_usage(folder).free / MIB


def _number(path: Path) -> float:
    text = cgroup.read(path).strip()
    return float(text) if text.isdecimal() else math.inf
