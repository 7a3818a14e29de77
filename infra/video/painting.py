"""Frames through the real generator, one after the other, in one shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from handler import image
from handler.alpha import Pixels
from handler.generator import FrozenGenerator
from infra.video.flicker import Flicker, Levels
from infra.video.motion import Follower
from infra.video.steady import steadied

Paint = Callable[[Pixels], Pixels]


def painter(generator: FrozenGenerator) -> Paint:
    """H×W×3 uint8 RGB -> the same painted, as the function does it with a photo."""

    def paint(frame: Pixels) -> Pixels:
        size = frame.shape[1], frame.shape[0]
        return image.to_pixels(generator(image.to_tensor(frame)), size)

    return paint


@dataclass(slots=True)
class Painting:
    """The painted frames in their order; `flicker` and `repeated` are filled on the way."""

    paint: Paint
    steady: bool = False
    flicker: Flicker = field(default_factory=Flicker)
    repeated: int = 0  # frames that are the one before again, as a low or variable rate makes them
    _follower: Follower = field(default_factory=Follower)

    def frames(self, clip: Iterable[Pixels]) -> Iterator[Pixels]:
        """Each frame of a clip, painted."""
        before: Moment | None = None
        for frame in clip:
            if before is not None and np.array_equal(frame, before.frame):
                self.repeated += 1
            else:
                before = self._next(before, frame)
            yield before.result

    def _next(self, before: Moment | None, frame: Pixels) -> Moment:
        painted = self.paint(frame)
        now = Moment(frame, _levels(frame), _levels(painted), _levels(painted), painted)
        if before is None:
            return now
        motion = self._follower.between(before.frame, frame)
        clip = before.clip, now.clip
        self.flicker.add(motion, clip, (before.painted, now.painted))
        if self.steady:
            now.calm = steadied(motion, clip, before.calm, now.painted)
            now.result = np.rint(now.calm).clip(0, 255).astype(np.uint8)
            self.flicker.add_steadied(motion, before.calm, now.calm)
        return now


@dataclass(slots=True)
class Moment:
    """A frame, what was painted of it, and that steadied; `result` is what is written."""

    frame: Pixels
    clip: Levels
    painted: Levels
    calm: Levels
    result: Pixels


def _levels(pixels: Pixels) -> Levels:
    return pixels.astype(np.float32)
