"""Less flicker: a frame is blended with the last result, moved along the clip's own optical flow.

This is a plain recursive filter. Where the clip itself has changed (light, a hidden part, a wrong flow), the new
frame counts alone: the weight of the old one falls as exp(-50 |I - I'|²), pixels in [0, 1], the visibility of Lai
et al., "Learning Blind Video Temporal Consistency", ECCV 2018 (section 3.2).
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from infra.video.flicker import Levels
from infra.video.motion import Motion

WEIGHT = 0.7  # of the last result, where it fits; more smears what flow follows badly
FALL = 50.0
EDGE = 5  # pixels over which the weight goes to nothing at a border of what is visible


def steadied(motion: Motion, clip: tuple[Levels, Levels], last: Levels, painted: Levels) -> Levels:
    """The painted frame with less flicker; `clip` is (before, now), `last` the result before. All H×W×3."""
    if motion.is_cut:
        return painted
    before, now = clip
    weight = WEIGHT * _fit(motion.warp(before), now) * _soft(motion.visible)
    moved = np.clip(motion.warp(last), 0, 255)
    blended: Levels = painted + weight[..., None] * (moved - painted)
    return blended


def _fit(moved: Levels, now: Levels) -> NDArray[np.float32]:
    """How far the clip's own frames agree, 0 to 1; over a few pixels, so that noise does not matter."""
    difference = cv2.blur((now - moved) / 255, (3, 3))
    fit: NDArray[np.float32] = np.exp(-FALL * np.square(difference).sum(axis=2))
    return fit


def _soft(visible: NDArray[np.bool_]) -> NDArray[np.float32]:
    inner = cv2.erode(visible.astype(np.float32), np.ones((EDGE, EDGE)))
    return cv2.blur(inner, (EDGE, EDGE))  # type: ignore[return-value]
