"""The photos of a run: made before it begins, so that making them takes no CPU time from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from infra.bench.made_up import jpegs
from infra.faults.scenario import Half, Kind, Photos

FORMATS: dict[Kind, str] = {"progressive": "jpeg"}  # of kinds that are not named by theirs
SMALL = 640  # sides up to here are cut out of made-up photos; larger ones are enlarged from there


@dataclass(frozen=True, slots=True)
class Wish:
    """A photo and the parameters of its conversion."""

    photo: bytes
    kind: Kind
    query: dict[str, str]

    @property
    def type(self) -> str:
        return f"image/{FORMATS.get(self.kind, self.kind)}"

    @property
    def extension(self) -> str:
        return FORMATS.get(self.kind, self.kind)


def wishes(half: Half, count: int, random: Random) -> list[Wish]:
    """What is asked for in a half, in order."""
    pools = [_Pool(photos, random) for photos in half.photos]
    return [random.choice(pools).next() for _ in range(count)]


class _Pool:
    def __init__(self, photos: Photos, random: Random) -> None:
        self._photos, self._random = photos, random
        self._again = [self._make() for _ in range(photos.distinct)]

    def next(self) -> Wish:
        photos = self._photos
        data = self._make() if self._random.random() < photos.new else self._random.choice(self._again)
        return Wish(data, photos.kind, photos.query)

    def _make(self) -> bytes:
        seed = self._random.getrandbits(32)
        width, height = (self._random.randint(self._photos.least, self._photos.most) for _ in range(2))
        return encoded(width, height, self._photos.kind, seed)


def encoded(width: int, height: int, kind: Kind, seed: int) -> bytes:
    """A photo, the same for the same seed."""
    import cv2

    detail = _detail(min(max(width, height), SMALL), seed)
    pixels = cv2.resize(detail, (width, height), interpolation=cv2.INTER_AREA)
    done, data = cv2.imencode(f".{FORMATS.get(kind, kind)}", pixels, _options(kind))
    assert done, f"OpenCV writes no {kind}"
    return bytes(data.tobytes())


def _detail(side: int, seed: int) -> Any:
    """Side×side×3 uint8."""
    import cv2
    import numpy as np

    [data] = jpegs(1, side, side, seed)
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


def _options(kind: Kind) -> Sequence[int]:
    import cv2

    options: dict[Kind, Sequence[int]] = {
        "progressive": [cv2.IMWRITE_JPEG_PROGRESSIVE, 1],
        "png": [cv2.IMWRITE_PNG_COMPRESSION, 1],  # quick to make
        "webp": [cv2.IMWRITE_WEBP_QUALITY, 85],
    }
    return options.get(kind, [])
