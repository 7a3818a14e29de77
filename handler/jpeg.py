"""JPEG to pixels, at a reduced scale where that is enough, and never a picture that is damaged in parts.

OpenCV hides what libjpeg warns about: a photo with damaged data decodes into one with a grey or shifted half. So
simplejpeg decodes, which is strict; what has colours that it does not know, it looks through, and OpenCV decodes.
EXIF and ICC are read here too: OpenCV takes every APP2 segment for a profile, also the index of a multi-picture
file, and the last of two EXIF segments where others take the first.
"""

from __future__ import annotations

import re
import struct
from contextlib import suppress

import cv2
import numpy as np
import simplejpeg
from numpy.typing import NDArray

from handler import exif
from handler.errors import CorruptImage
from handler.headers import Header, jpeg_segments
from handler.raw import Raw, unpack

# What libjpeg warns of though every pixel is right: stray bytes between segments and unreadable ICC pieces;
# and what only simplejpeg minds: unusual chroma subsampling, which it does not know, and OpenCV decodes.
HARMLESS = re.compile(r"extraneous bytes|bad ICC marker|subsampling level")

# Each scan makes libjpeg go over the whole picture: 98 bytes bought 18 ms at 49 megapixels. In entropy-coded data
# FF is always followed by a zero or a restart, so these bytes are a marker there, or chance in some metadata.
START_OF_SCAN, MOST_SCANS = b"\xff\xda", 100

EXIF = b"Exif\x00\x00"
ICC = b"ICC_PROFILE\x00"  # then the number of the piece, from 1, and how many there are

# At a reduced scale, pixels are means of 2×2, 4×4 or 8×8, and the picture is made of means of those. Where there
# are hardly more of them than it needs, that blurs: its similarity (SSIM) to one made of the whole photo went down
# to 0.957. With this many times its long side it was 0.987 at least, mostly over 0.995. Twice would leave out the
# photos of 1920, 3840 and 4032 pixels, which are common, where pictures have 512 or 1024.
MARGIN = 1.875

DIRECT = ("YCbCr", "RGB", "Gray")  # what simplejpeg turns into BGR as OpenCV does; CMYK it does not

FLAGS = {
    1: cv2.IMREAD_UNCHANGED,
    2: cv2.IMREAD_REDUCED_COLOR_2 | cv2.IMREAD_IGNORE_ORIENTATION,
    4: cv2.IMREAD_REDUCED_COLOR_4 | cv2.IMREAD_IGNORE_ORIENTATION,
    8: cv2.IMREAD_REDUCED_COLOR_8 | cv2.IMREAD_IGNORE_ORIENTATION,
}


def decode(data: bytes, header: Header, wanted_side: int) -> Raw:
    """At least `wanted_side` pixels long where the photo is. Raises CorruptImage."""
    _refuse_many_scans(data)
    scale = reduction(max(header.width, header.height), wanted_side)
    strict = _decode_strictly(data, header, scale)
    return Raw(unpack(data, FLAGS[scale]).pixels if strict is None else strict, *metadata(data))


def reduction(longest: int, wanted: int) -> int:
    """Largest of 8, 4, 2, 1 by which libjpeg can shrink while decoding and leave enough for a sharp picture."""
    return next(scale for scale in (8, 4, 2, 1) if scale == 1 or longest // scale >= MARGIN * wanted)


def _refuse_many_scans(data: bytes) -> None:
    if (scans := data.count(START_OF_SCAN)) > MOST_SCANS:
        raise CorruptImage(f"The JPEG has {scans:,} scans, where a photo has a dozen; save it again.")


def _decode_strictly(data: bytes, header: Header, scale: int) -> NDArray[np.uint8] | None:
    """H×W×3 BGR, or None where OpenCV has to decode it. Raises CorruptImage."""
    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(data)
        if (height, width) != (header.height, header.width):  # the limits were checked against the header's
            raise CorruptImage("The JPEG gives two sizes of itself; save it again.")
        if colours in DIRECT:
            least = {"min_height": -(-height // scale), "min_width": -(-width // scale)}
            return np.asarray(simplejpeg.decode_jpeg(data, "BGR", **least), np.uint8)
        simplejpeg.decode_jpeg(data, "GRAY", min_height=1, min_width=1)
    except ValueError as warning:
        if not HARMLESS.search(str(warning)):
            raise CorruptImage(f"The JPEG is damaged ({warning}); send the whole file again.") from None
    return None


def metadata(data: bytes) -> tuple[int, bytes]:
    """(EXIF orientation, ICC profile or nothing)."""
    segments: list[tuple[int, bytes]] = []
    with suppress(IndexError, ValueError, struct.error):  # the decoder has judged the rest
        segments.extend((marker, data[start:end]) for marker, start, end in jpeg_segments(data))
    blocks = [body for marker, body in segments if marker == 0xE1 and body.startswith(EXIF)]
    pieces = sorted(body[12:] for marker, body in segments if marker == 0xE2 and body.startswith(ICC))
    return exif.orientation(blocks[0] if blocks else b""), b"".join(piece[2:] for piece in pieces)
