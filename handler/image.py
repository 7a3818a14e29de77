"""Bytes to photo, photo to tensor, tensor to photo, photo to bytes: pure functions on OpenCV.

Colour order is RGB and alpha travels apart: the network sees a photo on white, and `encode` gives a PNG or
WebP its transparency back. No metadata is ever written, so none (GPS!) can leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import cv2
import numpy as np
import torch
from torch import Tensor

from handler import decoders, icc
from handler.alpha import Pixels, off_white, split, u8
from handler.errors import EmptyImage, InvalidParameter, PayloadTooLarge, TooManyPixels
from handler.exif import upright
from handler.probe import Header, probe
from handler.raw import Raw, to_8_bit
from handler.resampling import resampled

__all__ = ["OutputFormat", "Photo", "Pixels"]  # besides the functions

OutputFormat = Literal["png", "jpeg", "webp"]

MULTIPLE = 32  # the generator halves twice; a coarse grid of shapes also bounds oneDNN's primitive cache
TO_UNIT = (np.arange(256, dtype=np.float32) / 127.5 - 1.0).reshape(1, 256)  # 0…255 -> -1…1
ANIMATED = "The picture is animated; only its first frame is converted."
MORE_FRAMES = {"tiff": "The file has several pages; only the first is converted."}
# Paeth's filter leaves small differences, in which zlib seeks repetitions in vain: on converted photos, runs alone
# take 7 ms where level 3 takes 16, and 3 % fewer bytes. Level 6 takes 44 ms for another 3 %.
PNG_STRATEGY = [cv2.IMWRITE_PNG_STRATEGY, cv2.IMWRITE_PNG_STRATEGY_RLE]
PNG_FILTER = [cv2.IMWRITE_PNG_FILTER, cv2.IMWRITE_PNG_FILTER_PAETH]


@dataclass(frozen=True, slots=True)
class Photo:
    """`rgb` H×W×3 uint8, `alpha` H×W uint8 or None when opaque, `profile` the ICC profile still to apply.

    `full` is (width, height) of the whole upright photo, which may have been decoded smaller.
    """

    rgb: Pixels
    full: tuple[int, int]
    alpha: Pixels | None = None
    profile: bytes = b""
    warnings: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.rgb.shape[1], self.rgb.shape[0]


def check(data: bytes, max_bytes: int, max_pixels: int) -> Header:
    """The header of an image within the limits.

    Raises EmptyImage, PayloadTooLarge, TooManyPixels, and UnsupportedFormat or CorruptImage as `probe` does.
    """
    if not data:
        raise EmptyImage("The image has no bytes; send a photo.")
    if len(data) > max_bytes:
        raise PayloadTooLarge(f"The image has {len(data):,} bytes; at most {max_bytes:,} are taken here.")
    header = probe(data)
    if header.pixels > max_pixels:
        raise TooManyPixels(
            f"The image is {header.width}×{header.height}, {header.pixels:,} pixels; "
            f"at most {max_pixels:,} are taken here. Scale it down first."
        )
    return header


def decode(data: bytes, header: Header, wanted_side: int) -> Photo:
    """Encoded image -> upright photo, at least `wanted_side` pixels long where the image is.

    Raises CorruptImage and UnsupportedFormat.
    """
    raw = decoders.decode(data, header, wanted_side)
    rgb, alpha = split(upright(to_8_bit(raw.pixels), raw.orientation))
    warnings = (MORE_FRAMES.get(header.format, ANIMATED),) if header.animated else ()
    return Photo(rgb, _full_size(header, raw, rgb), alpha, raw.profile, warnings + raw.warnings)


def _full_size(header: Header, raw: Raw, rgb: Pixels) -> tuple[int, int]:
    if header.format != "jpeg":  # the only one that is decoded at a reduced scale
        return rgb.shape[1], rgb.shape[0]
    return (header.height, header.width) if raw.orientation >= 5 else (header.width, header.height)


def target_size(
    size: tuple[int, int], wanted: int | None, max_side: int, upscale: bool
) -> tuple[tuple[int, int], str | None]:
    """((width, height) of the result, a warning or None). Raises InvalidParameter above `max_side`."""
    longest = max(size)
    if wanted is not None and wanted > max_side:
        raise InvalidParameter(f"size={wanted} is above this function's limit of {max_side} pixels (MAX_SIDE).")
    side = min(longest if wanted is None else wanted, max_side)
    warning = None
    if side > longest and not upscale:
        warning = f"size={wanted} is above the photo's own {longest} pixels, which it keeps without upscale."
        side = longest
    width, height = (max(1, round(length * side / longest)) for length in size)
    return (width, height), warning


def resize(photo: Photo, size: tuple[int, int]) -> Photo:
    """The photo in sRGB at exactly (width, height)."""
    if photo.size != size:
        alpha = None if photo.alpha is None else resampled(photo.alpha, size)
        photo = replace(photo, rgb=resampled(photo.rgb, size), alpha=alpha)
    return _in_srgb(photo)


def _in_srgb(photo: Photo) -> Photo:
    if not photo.profile:
        return photo
    try:
        return replace(photo, rgb=icc.to_srgb(photo.rgb, photo.profile), profile=b"")
    except icc.UnsupportedProfile:
        warning = "The photo's colour profile could not be applied; its colours were taken as sRGB."
        return replace(photo, profile=b"", warnings=(*photo.warnings, warning))


def to_tensor(rgb: Pixels) -> Tensor:
    """H×W×3 uint8 -> (1, 3, H', W') float32 in [-1, 1], channels-last, reflected to multiples of 32."""
    height, width = rgb.shape[:2]
    bottom, right = -height % MULTIPLE, -width % MULTIPLE
    padded = cv2.copyMakeBorder(rgb, 0, bottom, 0, right, cv2.BORDER_REFLECT_101)
    return torch.from_numpy(cv2.LUT(padded, TO_UNIT)).permute(2, 0, 1)[None]


def to_pixels(tensor: Tensor, size: tuple[int, int]) -> Pixels:
    """(1, 3, H', W') in [-1, 1] -> H×W×3 uint8, cropped to (width, height)."""
    width, height = size
    picture = tensor[0].permute(1, 2, 0)[:height, :width].numpy()
    return u8(cv2.addWeighted(picture, 127.5, picture, 0, 127.5, dtype=cv2.CV_8U))  # rounds and clamps


def beside(photo: Pixels, picture: Pixels) -> Pixels:
    """Photo left, picture right: two H×W×3 -> H×2W×3."""
    return u8(cv2.hconcat([photo, picture]))


def encode(rgb: Pixels, alpha: Pixels | None, format: OutputFormat, quality: int) -> bytes:
    """Picture on white -> PNG, JPEG or WebP bytes with no metadata; alpha is kept where the format can."""
    bgr = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR)
    if alpha is not None and format != "jpeg":
        bgr = cv2.merge([*cv2.split(cv2.cvtColor(off_white(rgb, alpha), cv2.COLOR_RGB2BGR)), alpha])
    options = {
        "png": PNG_STRATEGY + PNG_FILTER,
        "jpeg": [cv2.IMWRITE_JPEG_QUALITY, quality],
        "webp": [cv2.IMWRITE_WEBP_QUALITY, quality],
    }[format]
    done, encoded = cv2.imencode("." + format, bgr, options)
    if not done:  # WebP and JPEG end at 16,383 and 65,535 pixels a side
        raise InvalidParameter(f"{bgr.shape[1]}×{bgr.shape[0]} pixels are too many for {format}; ask for png.")
    return encoded.tobytes()
