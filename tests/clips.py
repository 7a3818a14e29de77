"""Clips of known motion, made of a photo, and files of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
PHOTO = Path(__file__).parents[1] / "docs" / "images" / "photo.jpg"
STEP = (2.3, 0.9)  # pixels a frame, between whole ones so that every frame is sampled anew


def pan(
    count: int,
    size: tuple[int, int],
    *,
    step: tuple[float, float] = STEP,
    noise: float = 0.0,
    light: float = 0.0,
    photo: Pixels | None = None,
) -> list[Pixels]:
    """A window of (width, height) that moves over a photo; H×W×3 RGB.

    `noise` is the deviation of a sensor's noise in levels, `light` by how much light changes from frame to frame.
    """
    width, height = size
    if photo is None:
        photo = cv2.cvtColor(cv2.imread(str(PHOTO)), cv2.COLOR_BGR2RGB)
    reach = (width + step[0] * count + 4, height + step[1] * count + 4)
    scale = max(1.0 * reach[0] / photo.shape[1], reach[1] / photo.shape[0])
    how = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    wide = cv2.resize(photo, None, fx=scale, fy=scale, interpolation=how)
    random = np.random.default_rng(0)
    frames = []
    for place in range(count):
        centre = (width / 2 + 1 + step[0] * place, height / 2 + 1 + step[1] * place)
        window = cv2.getRectSubPix(wide, size, centre).astype(np.float32)
        window *= 1 + light * (-1) ** place
        window += random.normal(0, noise, window.shape) if noise else 0
        frames.append(np.rint(window).clip(0, 255).astype(np.uint8))
    return frames


def save(path: Path, frames: Sequence[Pixels], rate: Fraction | int = 10, *more: str) -> Path:
    """Through ffmpeg, without loss; `more` are its options for the output, and for further inputs before them."""
    height, width = frames[0].shape[:2]
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-video_size", f"{width}x{height}", "-framerate", str(rate), "-i", "pipe:0", *more, str(path)]
    subprocess.run(command, input=b"".join(frame.tobytes() for frame in frames), check=True)
    return path


def save_with_opencv(path: Path, frames: Iterable[Pixels], rate: float = 10.0) -> Path:
    """As OpenCV alone can: Motion JPEG in an AVI, without sound."""
    several = list(frames)
    height, width = several[0].shape[:2]
    video = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), rate, (width, height))
    assert video.isOpened()
    for frame in several:
        video.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    video.release()
    return path


def read(path: Path) -> list[Pixels]:
    """Every frame of a file, by OpenCV, RGB and upright."""
    video = cv2.VideoCapture(str(path))
    frames = []
    while True:
        done, frame = video.read()
        if not done:
            video.release()
            return frames
        frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
