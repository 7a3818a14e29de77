"""The machine's own bounds, from where Linux tells them. Other systems tell fewer."""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

MIB = 1024 * 1024
CGROUP = Path("/sys/fs/cgroup")
CGROUP_V1 = "memory/memory.limit_in_bytes"
UNBOUNDED = 2**60  # cgroup v1 says "no limit" with a number near 2**63


def memory_limit(environment: Mapping[str, str], cgroup: Path = CGROUP) -> tuple[float, str]:
    """(MiB, whose) that a process may use: the Lambda function's, else the cgroup's, else all that there is."""
    said = environment.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "")
    if said.isdecimal():
        return float(said), "the function's memory size"
    for name in ("memory.max", CGROUP_V1):
        if (bounded := _number(cgroup / name)) < UNBOUNDED:
            return bounded / MIB, "the cgroup's limit"
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / MIB, "this machine's memory"


def throttled(cgroup: Path = CGROUP) -> int:
    """How often the cgroup's CPU quota has stopped its processes; 0 where nobody counts."""
    found = re.search(r"^nr_throttled (\d+)$", _read(cgroup / "cpu.stat"), re.MULTILINE)
    return int(found[1]) if found else 0


def free_mib(folder: Path) -> float:
    """Raises OSError."""
    return shutil.disk_usage(folder).free / MIB


def _number(path: Path) -> float:
    text = _read(path).strip()
    return float(text) if text.isdecimal() else math.inf


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
