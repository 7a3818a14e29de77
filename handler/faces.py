"""Faces painted at the size that a style paints them best at, instead of whatever size they have in the photo.

Imported for the first conversion that asks for it, so that the others pay nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from handler import image
from handler.alpha import Pixels
from handler.cache import Cache, Lookup
from handler.face_blend import blend
from handler.face_detector import Detector, searched
from handler.face_frames import Face, Frame, cut, frame
from handler.generator import FrozenGenerator
from handler.stages import milliseconds

MOST = 8  # faces of one photo, the largest; what is beyond is a crowd, and time and memory have to be bounded
LEAST_SIDE = 64  # pixels of a face's square: below, a face has some 30, and painted apart it looks pasted in
BATCH_SHARE = 4  # faces that torch's kernels take together have so much less pixels than the picture
HEADROOM = 1.3  # cutting, blending and encoding, over the inference alone

NONE_FOUND = "No face was found; the picture was converted as a whole."
TOO_SMALL = "The faces are too small to be painted apart; the picture was converted as a whole."


@dataclass(frozen=True, slots=True)
class Found:
    """The faces of a photo, and the long side of the copy that was searched: a larger one may have more."""

    faces: tuple[Face, ...]
    side: int

    @property
    def nbytes(self) -> int:
        return 1024 * len(self.faces)


@dataclass(frozen=True, slots=True)
class Painted:
    """Squares as the generator gave them, the largest face's first."""

    squares: tuple[Pixels, ...]

    @property
    def nbytes(self) -> int:
        return sum(square.nbytes for square in self.squares)


class Faces:
    """A process's detector, and what was found and painted before."""

    def __init__(self, detector: Detector, kept: Cache) -> None:
        self.detector, self.kept = detector, kept

    def painter(
        self,
        photo: Callable[[], bytes],
        generator: FrozenGenerator,
        remaining_ms: Callable[[], int] | None,
        said: dict[str, Any],
    ) -> Painter:
        """For one photo, whose digest `photo` gives; `said` is told what is logged. Raises NotConfigured."""
        self.detector.check()
        return Painter(self, photo() if self.kept.most_bytes else b"", generator, remaining_ms, said)


@dataclass(slots=True)
class Painter:
    """Paints the faces of one photo. `hurried`: there was no time for all of them."""

    faces: Faces
    photo: bytes
    generator: FrozenGenerator
    remaining_ms: Callable[[], int] | None
    said: dict[str, Any]
    hurried: bool = False
    warnings: list[str] = field(default_factory=list)

    def __call__(self, rgb: Pixels, picture: Pixels) -> Pixels:
        """The photo as it was converted, and its picture, H×W×3 -> the picture with painted faces."""
        found, known = self._found(rgb)
        frames = self._chosen(found, (rgb.shape[1], rgb.shape[0]))
        squares, made = self._squares(rgb, frames)
        kept: Lookup = "miss" if not known else "partial" if made else "hit"
        self.said |= {"faces": len(found), "faces_painted": len(squares)}
        if found:
            self.said["largest_face"] = round(max(face.height for face in found) * rgb.shape[0])
        self.said |= self.faces.kept.counted(kept, "face_cache")
        return blend(picture, list(zip(frames, squares, strict=False))) if squares else picture

    def _found(self, rgb: Pixels) -> tuple[tuple[Face, ...], bool]:
        """The faces, and whether they were known."""
        key, side = ("faces", self.photo), max(searched(rgb).shape[:2])
        before: Found | None = self.faces.kept.get(key)
        if before and before.side >= side:
            return before.faces, True
        begun = time.perf_counter()
        found = Found(self.faces.detector(rgb), side)
        self.said["detection_ms"] = milliseconds(time.perf_counter() - begun)
        self.faces.kept.put(key, found)
        return found.faces, False

    def _chosen(self, found: Sequence[Face], size: tuple[int, int]) -> list[Frame]:
        """The largest, at most MOST, each large enough."""
        frames = sorted((frame(face, size) for face in found), key=lambda frame: -frame.side)
        large = [frame for frame in frames if frame.side >= LEAST_SIDE]
        if not large:
            self.warnings.append(TOO_SMALL if found else NONE_FOUND)
        if len(large) > MOST:
            self.warnings.append(f"Of {len(large)} faces, the {MOST} largest were painted.")
        return large[:MOST]

    def _squares(self, rgb: Pixels, frames: Sequence[Frame]) -> tuple[list[Pixels], int]:
        """What is painted of each frame, fewer where time is short; and how many of them were not known."""
        style, side = self.generator.manifest, self.generator.manifest.face_size
        # With the frames: a larger copy of the same photo may have been searched meanwhile, and have others.
        key: Hashable = ("painted", self.photo, rgb.shape, *frames, style.digest, self.generator.precision, side)
        before: Painted | None = self.faces.kept.get(key)
        squares = list(before.squares[: len(frames)] if before else ())
        missing = self._in_time(frames, len(squares), side)
        for batch in self._batches(missing, rgb.shape[0] * rgb.shape[1]):
            squares += self._paint([cut(rgb, frame, side) for frame in batch])
        if missing:
            self.faces.kept.put(key, Painted(tuple(squares)))
        return squares, len(missing)

    def _batches(self, frames: Sequence[Frame], pixels: int) -> Iterator[Sequence[Frame]]:
        """All at once on native operators, which need memory for one; torch would need it for all."""
        most = max(pixels // (BATCH_SHARE * self.generator.manifest.face_size**2), 1)
        size = len(frames) if self.generator.kernel == "native" else most
        return (frames[first : first + size] for first in range(0, len(frames), size or 1))

    def _in_time(self, frames: Sequence[Frame], known: int, side: int) -> Sequence[Frame]:
        missing = frames[known:]
        if not self.remaining_ms or not missing:
            return missing
        each = side**2 * self.generator.seconds_per_pixel * 1000 * HEADROOM
        may = max(int(self.remaining_ms() / each), 0)
        if may < len(missing):
            self.hurried = True
            painted = f"{known + may} of {len(frames)} faces"
            self.warnings.append(f"There was time to paint {painted}; ask for a smaller size.")
        return missing[:may]

    def _paint(self, squares: Sequence[Pixels]) -> list[Pixels]:
        side = squares[0].shape[0]
        tensor = torch.cat([image.to_tensor(square) for square in squares])
        painted = self.generator(tensor.contiguous(memory_format=torch.channels_last))
        return [image.to_pixels(one[None], (side, side)) for one in painted]
