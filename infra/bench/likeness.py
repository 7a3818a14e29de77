"""How far an engine's pictures are from the reference's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Likeness:
    """The worst and the mean error, in units of [-1, 1]; SSIM of the least alike photo, in 8 bits."""

    worst: float
    mean: float
    ssim: float


def likeness(pictures: npt.NDArray[np.float32], reference: npt.NDArray[np.float32]) -> Likeness:
    """Both (N, 3, H, W) in [-1, 1]."""
    from skimage.metrics import structural_similarity

    error = np.abs(pictures - reference)
    pairs = zip(_8_bit(pictures), _8_bit(reference), strict=True)
    ssim = min(float(structural_similarity(a, b, channel_axis=0)) for a, b in pairs)  # type: ignore[no-untyped-call]
    return Likeness(float(error.max()), float(error.mean()), ssim)


def _8_bit(pictures: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    return np.clip(np.round(pictures * 127.5 + 127.5), 0, 255).astype(np.uint8)
