"""What is known of a clip before it is read, and what is to be made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from handler.alpha import Pixels

NOMINAL = 61  # a rate above it that is not the average is a clock's, not the camera's
HIGHEST_RATE = 240


@dataclass(frozen=True, slots=True)
class Clip:
    """A video's first picture stream.

    `size` is (width, height) upright and of square pixels, `rate` in frames a second, `sound` the codec of the
    first sound stream; `filters` are ffmpeg's, to be applied before scaling, and `matrix` its name for the
    colours.
    """

    size: tuple[int, int]
    rate: Fraction
    seconds: float | None
    sound: str | None = None
    filters: tuple[str, ...] = ()
    matrix: str = "auto"
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What to read and to write. `size` is even, `frames` what is expected, `crf` None for the codec's default."""

    source: Path
    clip: Clip
    size: tuple[int, int]
    rate: Fraction
    start: float = 0.0
    duration: float | None = None
    crf: int | None = None
    keep_sound: bool = True

    @property
    def frames(self) -> int | None:
        if self.clip.seconds is None:
            return None
        rest = max(0.0, self.clip.seconds - self.start)
        return max(1, round(min(rest, self.duration or rest) * self.rate))


class Backend(Protocol):
    """What reads and writes clips. All of it raises VideoError, in words for a person."""

    name: str

    def probe(self, path: Path) -> Clip: ...

    def prepare(self, plan: Plan, part: Path) -> str:
        """Find out how `part` can be written; says what becomes of the sound."""

    def read(self, plan: Plan) -> AbstractContextManager[Iterator[Pixels]]:
        """Frames, each H×W×3 uint8 RGB of the plan's size, at its rate."""

    def write(self, plan: Plan, part: Path) -> AbstractContextManager[Callable[[Pixels], None]]:
        """A function that takes the painted frames in their order. `part` is whole when the block has ended."""


def nominal(average: Fraction, clock: Fraction) -> Fraction:
    """The constant rate for a clip whose average and least common rates are given; either may be 0, unknown.

    Cameras with a variable rate leave gaps in a regular grid. The grid is what is wanted: no frame is lost in it.
    """
    if not average:
        return clock if 0 < clock <= HIGHEST_RATE else Fraction(25)
    regular = average <= clock <= 2 * average and clock < NOMINAL
    return clock if regular else min(average, Fraction(HIGHEST_RATE))


def even_size(size: tuple[int, int], wanted: int | None, max_side: int) -> tuple[int, int]:
    """(width, height) with a long side of `wanted`, else the clip's own up to `max_side`; never above the clip's.

    Both are even, as video codecs with halved colour need.
    """
    side = min(max(size), wanted or max_side)
    width, height = (max(2, length * side // max(size) // 2 * 2) for length in size)
    return width, height
