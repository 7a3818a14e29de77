"""Photos made up for measurements: coarse colours with fine noise, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

COARSE = 16  # pixels of a patch of colour
NOISE = 6.0  # standard deviation, in grey levels


def jpeg(width: int, height: int) -> bytes:
    """Always the same for its size."""
    import numpy as np

    return _encoded(_pixels(width, height, np.random.default_rng(0)))


def jpegs(count: int, least: int, most: int, seed: int = 0) -> Iterator[bytes]:
    """JPEGs with sides between `least` and `most`. The first is the largest there can be, so that what comes later
    needs no more memory than it did.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    whole = _pixels(most, most, random)
    for number in range(count):
        width, height = random.integers(least, most + 1, 2) if number else (most, most)
        left, top = random.integers(0, most - width + 1), random.integers(0, most - height + 1)
        yield _encoded(whole[top : top + height, left : left + width])


def _pixels(width: int, height: int, random: Any) -> Any:
    """H×W×3 uint8."""
    import cv2
    import numpy as np

    small = random.integers(0, 256, (height // COARSE + 1, width // COARSE + 1, 3), np.uint8)
    smooth = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.clip(smooth + random.normal(0, NOISE, smooth.shape), 0, 255).astype(np.uint8)


def _encoded(pixels: Any) -> bytes:
    import cv2

    return bytes(cv2.imencode(".jpg", pixels)[1].tobytes())
