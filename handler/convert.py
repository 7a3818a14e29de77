"""The pipeline, top to bottom: decode, preprocess, inference, postprocess, face where it is asked for, encode."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from handler import image
from handler.errors import PayloadTooLarge
from handler.generator import FrozenGenerator
from handler.image import OutputFormat, Pixels
from handler.probe import Header
from handler.stages import Stages

# Tried in this order when a picture is too large for an answer; each is smaller than the one before it.
SMALLER: tuple[tuple[OutputFormat, int], ...] = (
    ("webp", 92),
    ("webp", 80),
    ("jpeg", 80),
    ("webp", 60),
    ("jpeg", 50),
)


@dataclass(frozen=True)  # without slots, so that it has room for its digest
class ConversionRequest:
    """A photo's bytes and what is wanted of it. `size` is the long side in pixels, `quality` 1 to 100."""

    data: bytes
    style: str
    format: OutputFormat | None = None
    size: int | None = None
    quality: int = 92
    upscale: bool = False
    side_by_side: bool = False
    face: bool = False
    max_output_bytes: int | None = None

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the photo's bytes: 1 to 2 ms a megabyte, so computed once and only where it is wanted."""
        return hashlib.sha256(self.data).digest()


@dataclass(frozen=True, slots=True)
class Conversion:
    """A picture's bytes, what they are, and how long each stage took in milliseconds."""

    data: bytes
    format: OutputFormat
    width: int
    height: int
    style: str
    timings: dict[str, float]
    warnings: tuple[str, ...]

    @property
    def nbytes(self) -> int:
        return len(self.data)


class FacePainter(Protocol):
    """Photo and picture, both H×W×3 -> the picture with painted faces; then `warnings` says what to know of it."""

    warnings: list[str]

    def __call__(self, rgb: Pixels, picture: Pixels) -> Pixels: ...


def convert(
    request: ConversionRequest,
    header: Header,
    generator: FrozenGenerator,
    max_side: int,
    stages: Stages,
    paint_faces: FacePainter | None = None,
) -> Conversion:
    """Photo bytes to picture bytes. Raises the errors of `image.decode` and PayloadTooLarge."""
    with stages("decode"):
        wanted = min(request.size or max(header.width, header.height), max_side)
        photo = image.decode(request.data, header, wanted)
    with stages("preprocess"):
        size, warning = image.target_size(photo.full, request.size, max_side, request.upscale)
        photo = image.resize(photo, size)
        tensor = image.to_tensor(photo.rgb)
    with stages("inference"):
        tensor = generator(tensor)
    with stages("postprocess"):
        picture = image.to_pixels(tensor, size)
    if paint_faces:
        with stages("face"):
            picture = paint_faces(photo.rgb, picture)
    with stages("encode"):
        alpha = None if request.side_by_side else photo.alpha
        if request.side_by_side:
            picture = image.beside(photo.rgb, picture)
        data, format, smaller = _encode(picture, alpha, request, header)
    faces = paint_faces.warnings if paint_faces else ()
    warnings = (*photo.warnings, *faces, *filter(None, (warning, smaller)))
    height, width = picture.shape[:2]
    return Conversion(data, format, width, height, request.style, stages.timings(), warnings)


def _encode(
    picture: Pixels, alpha: Pixels | None, request: ConversionRequest, header: Header
) -> tuple[bytes, OutputFormat, str | None]:
    wanted = request.format or output_format(header)
    data = image.encode(picture, alpha, wanted, request.quality)
    limit = request.max_output_bytes
    if limit is None or len(data) <= limit:
        return data, wanted, None
    for format, quality in SMALLER:
        smaller = image.encode(picture, alpha, format, min(quality, request.quality))
        if len(smaller) <= limit:
            return smaller, format, f"As {wanted} it had {len(data):,} bytes, over the limit: sent as {format}."
    raise PayloadTooLarge(f"The picture has over {limit:,} bytes in every format; ask for a smaller size.")


def output_format(header: Header) -> OutputFormat:
    """The photo's own format where a picture can be written in it, else PNG."""
    return header.format if header.format in ("png", "jpeg", "webp") else "png"
