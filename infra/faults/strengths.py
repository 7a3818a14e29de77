"""How strong each fault is: one row per run. Rows of `tune` were there when the rules of diagnosis were made.

Those of `held` have other strengths, photos and traffic. They were drawn once the rules stood, by somebody else.
"""

from __future__ import annotations

from typing import Any

from infra.faults.scenario import Set

Row = tuple[Any, ...]

# Sides of the photos, from which each run takes one row.
SIDES: dict[Set, tuple[tuple[int, int], ...]] = {
    "tune": ((96, 128), (128, 176), (160, 208)),
    "held": ((104, 144), (144, 192), (152, 232)),
}

STRENGTHS: dict[str, dict[Set, tuple[Row, ...]]] = {
    # How many times the side.
    "larger_inputs": {"tune": ((1.5,), (2.0,), (3.0,)), "held": ((1.35,), (1.6,), (1.9,), (2.4,), (2.9,))},
    # Questions on their own, times what can be served, so many at once; or clients that ask in turn.
    "queueing": {
        "tune": (("load", 1.4, 1), ("clients", 4, 1), ("load", 0.7, 8)),
        "held": (("load", 1.35, 1), ("load", 2.0, 1), ("clients", 5, 1), ("clients", 7, 1), ("load", 0.75, 10)),
    },
    # Processes on the same two CPUs, and the share of the time that each computes.
    "cpu_contention": {
        "tune": ((1, 1.0), (2, 1.0), (4, 1.0)),
        "held": ((2, 0.95), (3, 0.9), (3, 0.75), (4, 0.8), (5, 1.0)),
    },
    # Threads on two CPUs, and since when.
    "thread_oversubscription": {
        "tune": ((4, "middle"), (8, "middle"), (16, "start")),
        "held": ((5, "middle"), (10, "middle"), (12, "start"), (9, "start"), (14, "middle")),
    },
    # MiB kept of each conversion, and since when.
    "memory_growth": {
        "tune": ((1.5, "start"), (4.0, "start"), (8.0, "middle")),
        "held": ((1.2, "start"), (3.5, "start"), (5.0, "middle"), (9.0, "start"), (2.0, "middle")),
    },
    # Seconds between two times that pages are taken away.
    "paging": {"tune": ((0.06,), (0.03,), (0.015,)), "held": ((0.045,), (0.035,), (0.022,), (0.018,), (0.012,))},
    # Invocations that an environment lives for, and environments at a time.
    "cold_starts": {"tune": ((2, 1), (1, 1), (2, 2)), "held": ((1, 2), (2, 1), (1, 1), (2, 2), (3, 1))},
    # Format and side of the photos that become pictures as small as before; the part of the questions.
    "slow_decode": {
        "tune": (("progressive", 2000, 1.0), ("png", 1400, 1.0), ("jpeg", 3600, 1.0)),
        "held": (
            ("progressive", 1700, 1.0),
            ("progressive", 2600, 0.67),
            ("png", 1200, 1.0),
            ("webp", 1900, 1.0),
            ("jpeg", 3900, 1.0),
        ),
    },
    # What is asked for instead of JPEG, its quality, and the largest picture that an answer takes, in bytes per
    # pixel of the smallest photo: JPEGs have a third of a byte; PNGs, over one, are encoded again as WebP.
    # Without such a limit, photo and picture are asked for side by side.
    "slow_encode": {
        "tune": (("webp", 92, 0), ("png", 92, 0.8), ("webp", 100, 0)),
        "held": (("webp", 91, 0), ("webp", 96, 0), ("png", 90, 0.85), ("png", 92, 0.95), ("webp", 99, 0)),
    },
    # Seconds that S3 takes longer, by method.
    "slow_s3": {
        "tune": (({"GET": 0.08},), ({"PUT": 0.2},), ({"GET": 0.1, "HEAD": 0.1, "PUT": 0.1},)),
        "held": (
            ({"GET": 0.07},),
            ({"GET": 0.25, "HEAD": 0.04},),
            ({"PUT": 0.12},),
            ({"PUT": 0.35},),
            ({"GET": 0.06, "HEAD": 0.04, "PUT": 0.08},),
        ),
    },
    # The part of the questions that come with a photo never seen, before and after.
    "cache_misses": {
        "tune": ((0.1, 0.9), (0.2, 0.7), (0.05, 1.0)),
        "held": ((0.1, 0.75), (0.12, 1.0), (0.22, 0.85), (0.06, 0.65), (0.28, 0.95)),
    },
    # What is slower: a setting, another default style, or the style that clients ask for; part of the questions.
    "slower_style": {
        "tune": (("PRECISION", 1.0), ("asked", 1.0), ("STYLE", 1.0)),
        "held": (("PRECISION", 1.0), ("STYLE", 1.0), ("asked", 1.0), ("asked", 0.67), ("PRECISION", 1.0)),
    },
    # Nothing changes, whatever there is all along.
    "no_change": {
        "tune": (
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
        "held": (
            ("clients", 1),
            ("environments", 1, 0),
            ("styles",),
            ("clients", 2),
            ("clients", 4),
            ("load", 0.22, 1),
            ("load", 0.35, 1),
            ("load", 0.25, 2),
            ("restart", "serve"),
            ("restart", "http_event"),
            ("cache", 0.25),
            ("cache", 0.45),
            ("S3", 0.0),
            ("S3", 0.04),
            ("environments", 2, 0),
            ("environments", 2, 10),
            ("formats",),
            ("float32",),
            ("large photos", "png", 1000),
            ("large photos", "jpeg", 1800),
        ),
    },
}
