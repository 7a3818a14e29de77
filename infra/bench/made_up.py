"""Photos of random sizes, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator

COARSE = 16  # pixels of a patch of colour


def jpegs(count: int, least: int, most: int, seed: int = 0) -> Iterator[bytes]:
    """JPEGs with sides between `least` and `most`. The first is the largest there can be, so that what comes later
    needs no more memory than it did.
    """
    import cv2
    import numpy as np

    random = np.random.default_rng(seed)
    small = random.integers(0, 256, (most // COARSE + 1, most // COARSE + 1, 3), np.uint8)
    smooth = cv2.resize(small, (most, most), interpolation=cv2.INTER_CUBIC)
    whole = np.clip(smooth + random.normal(0, 6, smooth.shape), 0, 255).astype(np.uint8)
    for number in range(count):
        width, height = random.integers(least, most + 1, 2) if number else (most, most)
        left, top = random.integers(0, most - width + 1), random.integers(0, most - height + 1)
        cut = whole[top : top + height, left : left + width]
        yield bytes(cv2.imencode(".jpg", cut)[1].tobytes())
