"""How strong each fault is: one row per run. These were there when the rules of diagnosis were made.

Those of the set `held` are drawn (drawn.py).
"""

from __future__ import annotations

from infra.faults import drawn
from infra.faults.drawn import Row
from infra.faults.scenario import Set

# Sides of the photos, from which each run takes one row.
SIDES: dict[Set, tuple[tuple[int, int], ...]] = {
    "tune": ((96, 128), (128, 176), (160, 208)),
    "held": drawn.SIDES,
}

TUNE: dict[str, tuple[Row, ...]] = {
    # How many times the side.
    "larger_inputs": ((1.5,), (2.0,), (3.0,)),
    # Questions on their own, times what can be served, so many at once; or clients that ask in turn.
    "queueing": (("load", 1.4, 1), ("clients", 4, 1), ("load", 0.7, 8)),
    # Processes on the same two CPUs, and the share of the time that each computes.
    "cpu_contention": ((1, 1.0), (2, 1.0), (4, 1.0)),
    # Threads on two CPUs, and since when.
    "thread_oversubscription": ((4, "middle"), (8, "middle"), (16, "start")),
    # MiB kept of each conversion, and since when.
    "memory_growth": ((1.5, "start"), (4.0, "start"), (8.0, "middle")),
    # Seconds between two times that pages are taken away.
    "paging": ((0.06,), (0.03,), (0.015,)),
    # Invocations that an environment lives for, and environments at a time.
    "cold_starts": ((2, 1), (1, 1), (2, 2)),
    # Format and side of the photos that become pictures as small as before; the part of the questions.
    "slow_decode": (("progressive", 2000, 1.0), ("png", 1400, 1.0), ("jpeg", 3600, 1.0)),
    # What is asked for instead of JPEG, its quality, and the largest picture that an answer takes, in bytes per
    # pixel of the smallest photo: JPEGs have a third of a byte; PNGs, over one, are encoded again as WebP.
    # Without such a limit, photo and picture are asked for side by side.
    "slow_encode": (("webp", 92, 0), ("png", 92, 0.8), ("webp", 100, 0)),
    # Seconds that S3 takes longer, by method.
    "slow_s3": (({"GET": 0.08},), ({"PUT": 0.2},), ({"GET": 0.1, "HEAD": 0.1, "PUT": 0.1},)),
    # The part of the questions that come with a photo never seen, before and after.
    "cache_misses": ((0.1, 0.9), (0.2, 0.7), (0.05, 1.0)),
    # What is slower: a setting, another default style, or the style that clients ask for; part of the questions.
    "slower_style": (("PRECISION", 1.0), ("asked", 1.0), ("STYLE", 1.0)),
    # One thread where there are two CPUs, or an environment of half the memory.
    "fewer_cpus": (("NUM_THREADS",), ("memory",), ("NUM_THREADS",)),
    # Nothing changes, whatever there is all along.
    "no_change": (
        ("clients", 1),
        ("clients", 3),
        ("load", 0.3, 1),
        ("restart", "serve"),
        ("cache", 0.3),
        ("S3", 0.0),
        ("environments", 2, 0),
        ("formats",),
        ("float32",),
        ("large photos", "progressive", 1200),
    ),
}

STRENGTHS: dict[str, dict[Set, tuple[Row, ...]]] = {
    cause: {"tune": rows, "held": drawn.rows(cause)} for cause, rows in TUNE.items()
}
