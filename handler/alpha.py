"""Transparency: the network sees a photo on white, and a PNG or WebP gets its transparency back at the end."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def split(pixels: Pixels) -> tuple[Pixels, Pixels | None]:
    """H×W, H×W×3 BGR or H×W×4 BGRA -> (H×W×3 RGB on white, H×W alpha or None where all is opaque)."""
    if pixels.ndim == 2:
        return u8(cv2.cvtColor(pixels, cv2.COLOR_GRAY2RGB)), None
    rgb = u8(cv2.cvtColor(pixels[:, :, :3], cv2.COLOR_BGR2RGB))
    if pixels.shape[2] == 3 or pixels[:, :, 3].min() == 255:
        return rgb, None
    alpha = np.ascontiguousarray(pixels[:, :, 3])
    return on_white(rgb, alpha), alpha


def on_white(rgb: Pixels, alpha: Pixels) -> Pixels:
    """H×W×3 and H×W -> what is seen of it in front of white: c·a + 255·(1 - a)."""
    a = cv2.merge([alpha] * 3)
    return u8(cv2.bitwise_not(cv2.multiply(cv2.bitwise_not(rgb), a, scale=1 / 255)))


def off_white(rgb: Pixels, alpha: Pixels) -> Pixels:
    """The inverse of `on_white`: colours that give `rgb` when laid on white with `alpha`."""
    a = cv2.merge([np.maximum(alpha, 1)] * 3)
    return u8(cv2.bitwise_not(cv2.divide(cv2.bitwise_not(rgb), a, scale=255)))


def u8(pixels: NDArray[np.generic] | cv2.typing.MatLike) -> Pixels:
    """OpenCV's answers are typed as anything; these are uint8."""
    return np.asarray(pixels, dtype=np.uint8)
