"""Where each pixel of a frame was in the frame before, and whether it was to be seen there.

Optical flow is DIS (Kroeger et al., "Fast Optical Flow using Dense Inverse Search", ECCV 2016; OpenCV's medium
preset). What is hidden in one of the frames, or at the edge of something that moves, is found by flow in both
directions, with the conditions and constants of Sundaram et al., "Dense Point Trajectories by GPU-accelerated
Large Displacement Optical Flow", ECCV 2010, as Ruder et al., "Artistic Style Transfer for Videos", GCPR 2016, use
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from handler.alpha import Pixels

Field = NDArray[np.float32]  # H×W×2, in pixels
Mask = NDArray[np.bool_]

FLOW_SIDE = 512  # pixels of the long side at which flow is looked for; finer hardly changes it, and costs
CUT = 0.3  # less than this share to be seen in both: another scene


@dataclass(frozen=True, slots=True)
class Motion:
    """`origin` H×W×2: the place in the frame before of each pixel; `visible` H×W: where that can be trusted."""

    origin: Field
    visible: Mask

    @property
    def is_cut(self) -> bool:
        """Whether a new scene has begun."""
        return float(self.visible.mean()) < CUT

    def warp(self, before: NDArray[np.float32]) -> NDArray[np.float32]:
        """An H×W×3 picture of the time before, moved to where things are now."""
        return _remap(before, self.origin, cv2.INTER_CUBIC)


class Follower:
    """Finds motion between frames of one size."""

    def __init__(self) -> None:
        self._flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)

    def between(self, before: Pixels, now: Pixels) -> Motion:
        """Two H×W×3 frames -> the motion from the one to the other."""
        height, width = now.shape[:2]
        small = [_small_grey(frame) for frame in (before, now)]
        back = _flow(self._flow, small[1], small[0])
        visible = _visible(back, _flow(self._flow, small[0], small[1]))
        scale = np.array([width / back.shape[1], height / back.shape[0]], np.float32)
        full = cv2.resize(back, (width, height), interpolation=cv2.INTER_LINEAR) * scale
        seen = cv2.resize(visible.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST).astype(bool)
        origin = _grid(height, width) + full
        return Motion(origin, seen & _inside(origin))


def _small_grey(frame: Pixels) -> Pixels:
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY)
    factor = min(1.0, FLOW_SIDE / max(grey.shape))
    size = [max(16, round(length * factor)) for length in grey.shape]  # DIS needs a few of its 8-pixel patches
    return cv2.resize(grey, (size[1], size[0]), interpolation=cv2.INTER_AREA)  # type: ignore[return-value]


def _flow(method: cv2.DISOpticalFlow, one: Pixels, other: Pixels) -> Field:
    return method.calc(one, other, None)  # type: ignore[call-overload,no-any-return]


def _visible(back: Field, forth: Field) -> Mask:
    """Going back and forth must end where it began, and neighbours must move alike."""
    returned = _remap(forth, _grid(*back.shape[:2]) + back, cv2.INTER_LINEAR)
    lengths = _square(back) + _square(returned)
    consistent = _square(back + returned) <= 0.01 * lengths + 0.5
    steep = sum(_square(np.gradient(back, axis=axis)) for axis in (0, 1))
    smooth: Mask = steep <= 0.01 * _square(back) + 0.002
    return consistent & smooth


def _remap(values: NDArray[np.float32], places: Field, how: int) -> NDArray[np.float32]:
    return cv2.remap(values, places, np.empty(0), how, borderMode=cv2.BORDER_REFLECT)  # type: ignore[return-value]


def _square(field: Field) -> NDArray[np.float32]:
    squares: NDArray[np.float32] = np.square(field).sum(axis=2)
    return squares


def _grid(height: int, width: int) -> Field:
    return np.dstack(np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32)))


def _inside(origin: Field) -> Mask:
    height, width = origin.shape[:2]
    x, y = origin[..., 0], origin[..., 1]
    inside: Mask = (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
    return inside
