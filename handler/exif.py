"""The one thing that we read from EXIF: which way up the photo is. Nothing else of it goes anywhere.

Source: CIPA DC-008 (Exif 2.32), tag 0x0112 Orientation; the eight values as in TIFF 6.0, section 8.
"""

from __future__ import annotations

import struct

import cv2
import numpy as np
from numpy.typing import NDArray

from handler.tiff import tiff_tags

ORIENTATION = 0x0112

# What turns the stored picture upright: a mirroring or a half turn (cv2.flip codes), then a quarter turn.
# In words: 2 mirrored, 3 upside down, 4 flipped, 5 transposed, 6 turned left, 7 transversed, 8 turned right.
FLIPS = {2: 1, 3: -1, 4: 0}
TURNS = {6: cv2.ROTATE_90_CLOCKWISE, 8: cv2.ROTATE_90_COUNTERCLOCKWISE}


def orientation(exif: bytes) -> int:
    """EXIF orientation, 1 to 8; 1 (as stored) when the block is damaged or says nothing valid."""
    block = exif.removeprefix(b"Exif\x00\x00")
    if block[:2] not in (b"II", b"MM"):
        return 1
    try:
        value = tiff_tags(block).get(ORIENTATION, 1)
    except struct.error:
        return 1
    return value if 1 <= value <= 8 else 1


def upright(pixels: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """H×W or H×W×C as stored -> the picture as it is meant to be seen (5 to 8 exchange H and W)."""
    if orientation in FLIPS:
        return _u8(cv2.flip(pixels, FLIPS[orientation]))
    if orientation in TURNS:
        return _u8(cv2.rotate(pixels, TURNS[orientation]))
    if orientation == 5:
        return _u8(cv2.transpose(pixels))
    if orientation == 7:
        return _u8(cv2.flip(cv2.transpose(pixels), -1))
    return pixels


def _u8(pixels: NDArray[np.generic]) -> NDArray[np.uint8]:
    return pixels.astype(np.uint8, copy=False)
