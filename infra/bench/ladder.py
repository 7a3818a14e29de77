"""One photo in the sizes and codings that people send."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.errors import BadRequest

QUALITY = 95  # a 12-megapixel photo then has the 2 to 4 MB that phones give it
RUNGS = (
    *((0.3, "JPEG"), (1, "JPEG"), (3, "JPEG"), (12, "JPEG"), (24, "JPEG")),
    *((3, "progressive JPEG"), (12, "progressive JPEG"), (1, "PNG"), (3, "PNG")),
)


def photos(paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    """(what it is, its bytes) for each rung, of the largest photo. Raises BadRequest.

    Where a rung is larger than the photo, the photo goes on in mirror images: enlarged, it would lack the detail
    that a camera's has.
    """
    pixels = max((_read(path) for path in paths), key=lambda pixels: pixels.size)
    for megapixels, kind in RUNGS:
        yield f"{megapixels:g} MP {kind}", _encoded(_sized(pixels, megapixels), kind)


def _read(path: Path) -> Any:
    import cv2

    pixels = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if pixels is None:
        raise BadRequest(f"{path} is no photo that can be read")
    return pixels


def _sized(pixels: Any, megapixels: float) -> Any:
    """In its own shape, to a pixel."""
    import cv2
    import numpy as np

    height, width = pixels.shape[:2]
    scale = math.sqrt(megapixels * 1e6 / (width * height))
    size = (round(width * scale), round(height * scale))
    if scale <= 1:
        return cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return np.pad(pixels, ((0, size[1] - height), (0, size[0] - width), (0, 0)), mode="symmetric")


def _encoded(pixels: Any, kind: str) -> bytes:
    import cv2

    options = [cv2.IMWRITE_JPEG_QUALITY, QUALITY, cv2.IMWRITE_JPEG_PROGRESSIVE, int("progressive" in kind)]
    if kind == "PNG":
        return bytes(cv2.imencode(".png", pixels)[1].tobytes())
    return bytes(cv2.imencode(".jpg", pixels, options)[1].tobytes())
