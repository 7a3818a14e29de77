"""The rows of the set `held`: drawn by chance from these ranges, so that nobody who made the rules has chosen one.

Ranges go from what a user would barely notice to what nobody could overlook. What is of another kind each time
(a format, a setting) is listed, and only its figures are drawn. The seed is the date on which the rules stood, and
the number of the draw: rules that are changed after a look at one set need another.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Row = tuple[Any, ...]
Draw = Callable[[Random], Row]

SEED = "2026-12-01 3"
SIDES = ((104, 152), (168, 248), (232, 328), (304, 416), (368, 512))  # of photos, in pixels


def _delays(*methods: str) -> Draw:
    return lambda chance: ({method: round(chance.uniform(0.06, 0.35), 2) for method in methods},)


def _load(least: float, most: float, *bursts: int) -> Draw:
    return lambda chance: ("load", round(chance.uniform(least, most), 2), chance.choice(bursts))


def _photos(kind: str, least: int, most: int, part: float) -> Draw:
    return lambda chance: (kind, chance.randrange(least, most, 100), part)


def _webp(chance: Random) -> Row:
    return "webp", chance.randint(90, 100), 0


def _png(chance: Random) -> Row:
    return "png", chance.randint(88, 95), round(chance.uniform(0.82, 0.95), 2)


def _since(least: float, most: float, *when: str, whole: bool = False) -> Draw:
    def draw(chance: Random) -> Row:
        much = chance.randint(int(least), int(most)) if whole else round(chance.uniform(least, most), 1)
        return much, chance.choice(when)

    return draw


def _same(*row: Any) -> Draw:
    return lambda chance: row


DRAWS: dict[str, tuple[Draw, ...]] = {
    "larger_inputs": (lambda chance: (round(chance.uniform(1.25, 2.8), 2),),) * 5,
    "queueing": (
        _load(1.3, 1.6, 1),
        _load(1.6, 2.2, 1),
        _load(0.65, 0.85, 8, 10, 12),
        *[lambda chance: ("clients", chance.randint(4, 8), 1)] * 2,
    ),
    "cpu_contention": (
        lambda chance: (1, round(chance.uniform(0.8, 0.99), 2)),
        *[lambda chance: (chance.randint(2, 3), round(chance.uniform(0.7, 1.0), 2))] * 2,
        *[lambda chance: (chance.randint(4, 6), round(chance.uniform(0.6, 1.0), 2))] * 2,
    ),
    "thread_oversubscription": (
        *[_since(4, 16, "middle", whole=True)] * 3,
        *[_since(5, 16, "start", whole=True)] * 2,
    ),
    "memory_growth": (*[_since(1.5, 9, "start")] * 3, *[_since(2, 9, "middle")] * 2),
    "paging": (lambda chance: (round(chance.uniform(0.01, 0.045), 3),),) * 5,
    "cold_starts": (lambda chance: (chance.randint(1, 3), chance.randint(1, 2)),) * 5,
    "slow_decode": (
        _photos("progressive", 1600, 2200, 1.0),
        _photos("progressive", 2200, 2800, 0.67),
        _photos("png", 1200, 2000, 1.0),
        _photos("webp", 1600, 2400, 1.0),
        _photos("jpeg", 3400, 4200, 1.0),
    ),
    "slow_encode": (_webp, _webp, _webp, _png, _png),
    "slow_s3": (*[_delays("GET")] * 2, *[_delays("PUT")] * 2, _delays("GET", "HEAD", "PUT")),
    "cache_misses": (lambda chance: (round(chance.uniform(0.05, 0.3), 2), round(chance.uniform(0.65, 1), 2)),) * 5,
    "slower_style": (
        _same("PRECISION", 1.0),
        _same("KERNEL", 1.0),
        _same("STYLE", 1.0),
        _same("asked", 1.0),
        _same("asked", 0.67),
    ),
    "fewer_cpus": (*[_same("NUM_THREADS")] * 3, *[_same("memory")] * 2),
    "no_change": (
        *[lambda chance: ("clients", chance.randint(1, 4))] * 3,
        *[_load(0.2, 0.4, 1, 2)] * 4,
        _same("restart", "serve"),
        _same("restart", "http_event"),
        *[lambda chance: ("cache", round(chance.uniform(0.2, 0.5), 2))] * 2,
        *[lambda chance: ("S3", round(chance.uniform(0.0, 0.06), 2))] * 2,
        *[lambda chance: ("environments", chance.randint(1, 2), chance.choice((0, 9, 12)))] * 2,
        _same("formats"),
        _same("styles"),
        _same("float32"),
        _same("torch"),
        *[
            lambda chance: (
                "large photos",
                chance.choice(("png", "jpeg", "webp")),
                chance.randrange(1000, 2000, 100),
            )
        ]
        * 2,
        _same("mixed"),
    ),
}


def rows(cause: str) -> tuple[Row, ...]:
    """The same each time."""
    return tuple(draw(Random(f"{SEED} {cause} {number}")) for number, draw in enumerate(DRAWS[cause]))
