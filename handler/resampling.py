"""Pixels of another size."""

from __future__ import annotations

import cv2
import torch
from torch.nn.functional import interpolate

from handler.alpha import Pixels, u8


def resampled(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    """H×W or H×W×3 -> the same at (width, height): antialiased bicubic down, Lanczos up."""
    return _shrunk(pixels, size) if size[0] <= pixels.shape[1] else _enlarged(pixels, size)


def _shrunk(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    """As Pillow's BICUBIC: sharper than OpenCV's INTER_AREA, in a third of its time."""
    height, width = pixels.shape[:2]
    planes = torch.from_numpy(pixels.reshape(1, height, width, -1)).permute(0, 3, 1, 2)
    small = interpolate(planes, size[::-1], mode="bicubic", antialias=True)
    return u8(small[0].permute(1, 2, 0).reshape(size[1], size[0], *pixels.shape[2:]).numpy())


def _enlarged(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    return u8(cv2.resize(pixels, size, interpolation=cv2.INTER_LANCZOS4))
