"""Painted faces back into the picture, so that nobody sees where: their tone matched, their edges feathered.

A face's square has statistics of its own, and GroupNorm with them, so its tones differ from the whole picture's;
it also has a size of its own, so it is scaled back, and where that is up, it would be less sharp than the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from handler.alpha import Pixels, u8
from handler.face_frames import Frame, cut

Floats = NDArray[np.float32]

# Of half the square's side: within INNER all is painted face (eyes, nose, mouth), outside OUTER all is picture.
INNER, OUTER = 0.62, 0.96
# Of tones, in CIELAB: below the former they are no more than noise; the latter is how far they are ever stretched.
LEAST_SPREAD, MOST_SPREAD = 1.0, 1.5
# The guided filter's window, 3×3, and what it takes for contrast: a hundredth of the range.
WINDOW, CONTRAST = (3, 3), 0.01**2


def blend(picture: Pixels, painted: Sequence[tuple[Frame, Pixels]]) -> Pixels:
    """H×W×3 with faces laid over it: each a frame and what was painted of its square, n×n×3.

    Where faces overlap, each pixel is mostly of the one whose middle is nearer.
    """
    height, width = picture.shape[:2]
    colours = np.zeros((height, width, 3), np.float32)
    weights, rest = np.zeros((height, width), np.float32), np.ones((height, width), np.float32)
    for frame, face in painted:
        left, top, right, bottom = frame.covers((width, height))
        if left >= right or top >= bottom:
            continue
        area = np.s_[top:bottom, left:right]
        colour, mask = laid(picture, frame, face)
        colours[area] += colour * np.square(mask)[..., None]
        weights[area] += np.square(mask)
        rest[area] *= 1 - mask
    faces = colours / np.maximum(weights, 1e-9)[..., None]
    mixed = picture + (faces - picture) * np.where(weights > 0, 1 - rest, 0)[..., None]
    return u8(np.clip(np.rint(mixed), 0, 255))


def laid(picture: Pixels, frame: Frame, face: Pixels) -> tuple[Floats, Floats]:
    """The face on what its frame covers of the picture: h×w×3 in 0…255, and h×w, how much of it shows."""
    side = min(face.shape[0], max(round(frame.side), 1))
    if side < face.shape[0]:
        face = u8(cv2.resize(face, (side, side), interpolation=cv2.INTER_AREA))
    there, mask = cut(picture, frame, side), feather(side)
    colours = matched(face, there, (mask > 0) & (mask < 1))
    answer = placed(colours, picture, frame)
    if frame.side > side:
        left, top, right, bottom = frame.covers((picture.shape[1], picture.shape[0]))
        finer = picture[top:bottom, left:right] - placed(np.asarray(there, np.float32), picture, frame)
        answer += placed(gain(colours, there), picture, frame) * finer
    return answer, np.clip(placed(mask, picture, frame), 0, 1)


def placed(square: Floats, picture: Pixels, frame: Frame) -> Floats:
    """A frame's n×n or n×n×3 as the part of the picture that it covers."""
    left, top, right, bottom = frame.covers((picture.shape[1], picture.shape[0]))
    place = frame.to_picture(square.shape[0]) - [[0, 0, left], [0, 0, top]]
    how = cv2.INTER_CUBIC if square.ndim == 3 else cv2.INTER_LINEAR
    size = (right - left, bottom - top)
    return np.asarray(cv2.warpAffine(square, place, size, flags=how, borderMode=cv2.BORDER_REPLICATE), np.float32)


def matched(face: Pixels, there: Pixels, ring: NDArray[np.bool_]) -> Floats:
    """The face in the picture's tones, in 0…255: in CIELAB, its mean is the picture's in the ring, where both are
    seen, and its spread goes towards the picture's in all of the square (Reinhard et al. 2001, "Color Transfer").
    """
    ours, theirs = (cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB) for rgb in (face, there))
    spread = (theirs.std(axis=(0, 1)) + LEAST_SPREAD) / (ours.std(axis=(0, 1)) + LEAST_SPREAD)
    if ring.any():
        mean = ours[ring].mean(axis=0)
        ours = (ours - mean) * np.clip(spread, 1 / MOST_SPREAD, MOST_SPREAD) + theirs[ring].mean(axis=0)
    return np.asarray(np.clip(cv2.cvtColor(ours, cv2.COLOR_LAB2RGB), 0, 1) * 255, np.float32)


def gain(face: Floats, there: Pixels) -> Floats:
    """How many times the picture's contrast the face's is, at each pixel: finer detail comes along that much
    stronger or weaker. It is the slope of a guided filter (He and Sun 2015, "Fast Guided Filter").
    """
    guide, wanted = there.astype(np.float32) / 255, face / 255
    mean = cv2.blur(guide, WINDOW)
    slope = cv2.blur(guide * wanted, WINDOW) - mean * cv2.blur(wanted, WINDOW)
    return np.asarray(slope / (cv2.blur(guide * guide, WINDOW) - mean * mean + CONTRAST), np.float32)


def feather(side: int) -> Floats:
    """side×side, 1 in the middle, 0 at the edge, by Hermite's 3t² - 2t³ between; round, as heads are."""
    along = (np.arange(side, dtype=np.float32) + 0.5) / side * 2 - 1
    t = np.clip((OUTER - np.hypot(along[:, None], along)) / (OUTER - INNER), 0, 1)
    return np.asarray(t * t * (3 - 2 * t), np.float32)
