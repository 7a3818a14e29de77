"""Where a face is, and the square that it is cut out in: upright, with room for hair and chin.

Positions are continuous: pixel i covers i to i + 1, and its centre is i + ½.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from handler.alpha import Pixels, u8

Matrix = NDArray[np.float64]  # 2×3, as cv2.warpAffine takes it
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Face:
    """A face as it was found: `points` are the right eye, the left eye, the nose, and the mouth's right and left
    corner (the person's right), `height` is its box's. All as fractions of the picture's width and height.
    """

    points: tuple[Point, Point, Point, Point, Point]
    height: float
    score: float


@dataclass(frozen=True, slots=True)
class Frame:
    """A square on a picture, in pixels; `right` is the unit vector of its upper edge, along the eyes."""

    centre: Point
    side: float
    right: Point

    def to_picture(self, side: int) -> Matrix:
        """Pixels of this square, drawn with `side` pixels a side, -> pixels of the picture."""
        scale, (x, y) = self.side / side, self.right
        turn = scale * np.array([[x, -y], [y, x]])
        shift = np.array(self.centre) + turn @ np.full(2, (1 - side) / 2) - 0.5
        return np.column_stack([turn, shift])

    def covers(self, size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of what it can touch of a picture of (width, height)."""
        reach = self.side / 2 * (abs(self.right[0]) + abs(self.right[1])) + 1
        (x, y), (width, height) = self.centre, size
        left, top = max(math.floor(x - reach), 0), max(math.floor(y - reach), 0)
        return left, top, min(math.ceil(x + reach), width), min(math.ceil(y + reach), height)


def frame(face: Face, size: tuple[int, int]) -> Frame:
    """The square around a face on a picture of (width, height).

    The formula is that of CelebA-HQ (Karras et al. 2018, "Progressive Growing of GANs", appendix C), which face
    styles have been trained on ever since: from the eyes and the mouth, so that a profile, whose eyes are close to
    each other, gets as much room as a face seen from the front.
    """
    right_eye, left_eye, _, *mouth = np.array(face.points) * size
    eyes = (right_eye + left_eye) / 2
    across, up = left_eye - right_eye, eyes - (mouth[0] + mouth[1]) / 2
    side = max(4.0 * np.hypot(*across), 3.6 * np.hypot(*up))
    x, y = across[0] - up[1], across[1] + up[0]
    length = math.hypot(x, y) or 1.0
    centre = eyes - 0.1 * up
    return Frame((float(centre[0]), float(centre[1])), float(side), (float(x / length), float(y / length)))


def moved(face: Face, frame: Frame, size: tuple[int, int]) -> Face:
    """A face that was found in what the frame shows, as it is in the picture of (width, height)."""
    out = frame.to_picture(1)
    a, b, c, d, e = ((out @ (x - 0.5, y - 0.5, 1) + 0.5) / size for x, y in face.points)
    points = tuple((float(x), float(y)) for x, y in (a, b, c, d, e))
    return Face(points, face.height * frame.side / size[1], face.score)  # type: ignore[arg-type]


def cut(picture: Pixels, frame: Frame, side: int) -> Pixels:
    """What the square shows, `side`×`side` pixels; beyond the picture's edge, its reflection."""
    if (full := round(frame.side)) > side:
        return u8(cv2.resize(cut(picture, frame, full), (side, side), interpolation=cv2.INTER_AREA))
    how = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    turned = cv2.warpAffine(
        picture, frame.to_picture(side), (side, side), flags=how, borderMode=cv2.BORDER_REFLECT_101
    )
    return u8(turned)
