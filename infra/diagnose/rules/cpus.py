"""Fewer CPUs than before."""

from __future__ import annotations

import polars as pl

from infra.diagnose.causes import Cause, Finding
from infra.diagnose.evidence import EXPLAINED, figure, finding
from infra.diagnose.log import Log
from infra.diagnose.rules.paging import slowdown

FEWER = 0.9  # times as many as before; less is the rounding of a quota

CURE = (
    "Give the conversions their CPUs back: MemorySize on Lambda (1,769 MB are one vCPU), elsewhere the CPU quota "
    "of the container or the affinity of the process. NUM_THREADS=auto takes as many threads as there are CPUs."
)


def fewer_cpus(log: Log) -> Finding | None:
    """A conversion can use fewer CPUs: a smaller memory size on Lambda, a quota, or fewer threads than CPUs.

    The log says both numbers, so there is no doubt that they changed; what it adds is by how much conversions of
    the same size got slower.
    """
    rows = log.warm.known("capacity", "service").with_column("fewer", -pl.col("capacity"))
    split = rows.split("fewer")
    if not split or not split.ratio("capacity") <= FEWER:
        return None
    return finding(
        log,
        split,
        Cause.FEWER_CPUS,
        slowdown(split),
        EXPLAINED,
        shows="fewer",
        what="conversions can use fewer CPUs than before",
        stage="inference",
        evidence=(
            figure(split, "CPUs", "vcpus"),
            figure(split, "threads", "threads"),
            figure(split, "memory size", "memory_size", "MB"),
            figure(split, "CPU time of inference per megapixel", "work", "ms"),
            figure(split, "inference per megapixel", "pace", "ms"),
        ),
        cure=CURE,
    )
