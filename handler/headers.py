"""One reader per format: format and size from the first bytes, with as few bytes believed as can be.

Sources: JPEG ITU-T T.81 annex B; PNG (W3C, third edition) chunks IHDR and acTL; WebP RFC 9649; GIF89a;
BMP DIB headers; TIFF 6.0; AVIF and HEIF ISO/IEC 23008-12 (boxes ftyp and ispe).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from handler import heif
from handler.errors import CorruptImage, UnsupportedFormat
from handler.tiff import pages, tiff_tags

Format = Literal["jpeg", "png", "webp", "gif", "bmp", "tiff", "avif", "heic"]

# Start-of-frame markers, less DHT (C4), JPG (C8) and DAC (CC), which share their range.
JPEG_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
JPEG_PHOTO = frozenset([0xC0, 0xC1, 0xC2, 0xC9, 0xCA])  # baseline, extended, progressive, Huffman or arithmetic
JPEG_PROGRESSIVE = frozenset([0xC2, 0xCA])
JPEG_STANDALONE = frozenset([0x00, 0x01, *range(0xD0, 0xD9)])  # 0: an escaped FF, in junk
MOST_JPEG_SEGMENTS = 10_000  # a real photo has a few dozen; more is an attempt to keep us reading


@dataclass(frozen=True, slots=True)
class Header:
    """Format, width and height in pixels (before orientation), whether there is more than one frame, and
    whether it is a progressive JPEG, which takes two to three times as long to decode.
    """

    format: Format
    width: int
    height: int
    animated: bool = False
    progressive: bool = False

    @property
    def pixels(self) -> int:
        return self.width * self.height


def jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """(marker, start and end of the payload) up to the first scan. Raises IndexError or ValueError at the end."""
    at = 2
    for _ in range(MOST_JPEG_SEGMENTS):
        at = data.index(0xFF, at)  # some cameras leave junk between segments; libjpeg skips it as well
        while data[at] == 0xFF:
            at += 1
        marker = data[at]
        at += 1
        if marker in (0xD9, 0xDA):
            return
        if marker not in JPEG_STANDALONE:
            size = max(2, struct.unpack_from(">H", data, at)[0])
            yield marker, at + 2, at + size
            at += size
    raise CorruptImage(f"The JPEG has no picture in its first {MOST_JPEG_SEGMENTS} segments.")


def jpeg(data: bytes) -> Header:
    for marker, at, _ in jpeg_segments(data):
        if marker in JPEG_SOF:
            precision, height, width = struct.unpack_from(">BHH", data, at)
            if marker not in JPEG_PHOTO:
                raise UnsupportedFormat("This is a lossless or hierarchical JPEG; save it as a usual JPEG or PNG.")
            if precision in (12, 16):
                raise UnsupportedFormat(f"This JPEG has {precision} bits per sample; save it with 8.")
            return Header("jpeg", width, height, progressive=marker in JPEG_PROGRESSIVE)
    raise CorruptImage("The JPEG has no frame header before its data.")


def png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """(kind, start and end of the whole chunk), as far as the data go."""
    at = 8
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        yield kind, at, at + 12 + size
        at += 12 + size


def png(data: bytes) -> Header:
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        raise CorruptImage("The PNG's signature is damaged, as by a transfer as text; send the file unchanged.")
    width, height = struct.unpack_from(">II", data, 16)
    return Header("png", width, height, animated=any(kind == b"acTL" for kind, _, _ in png_chunks(data)))


def gif(data: bytes) -> Header:
    width, height = struct.unpack_from("<HH", data, 6)
    return Header("gif", width, height, animated=len(list(islice(_gif_frames(data), 2))) > 1)


def _gif_frames(data: bytes) -> Iterator[int]:
    """Where each frame begins, as far as the data go."""
    at = 13 + _palette_bytes(data[10])
    while at < len(data) and data[at] != 0x3B:  # the trailer
        if data[at] == 0x2C and at + 9 < len(data):
            yield at
            at += 11 + _palette_bytes(data[at + 9])  # its descriptor, palette and minimum code size
        else:
            at += 2  # an extension's introducer and label
        while at < len(data) and data[at]:
            at += 1 + data[at]  # a block of data
        at += 1


def _palette_bytes(packed: int) -> int:
    return 3 << (packed & 7) + 1 if packed & 0x80 else 0


def bmp(data: bytes) -> Header:
    if struct.unpack_from("<I", data, 14)[0] == 12:
        return Header("bmp", *struct.unpack_from("<HH", data, 18))
    width, height = struct.unpack_from("<ii", data, 18)
    return Header("bmp", width, abs(height))  # a negative height means that rows run from the top


def webp(data: bytes) -> Header:
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return Header("webp", width & 0x3FFF, height & 0x3FFF)
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        return Header("webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    width = int.from_bytes(data[24:27], "little") + 1
    height = int.from_bytes(data[27:30], "little") + 1
    return Header("webp", width, height, animated=bool(data[20] & 0x02))


def tiff(data: bytes) -> Header:
    tags = tiff_tags(data)
    if not {256, 257} <= tags.keys():
        raise CorruptImage("The TIFF's first directory gives no width and height.")
    return Header("tiff", tags[256], tags[257], animated=pages(data) > 1)


def avif_or_heic(data: bytes) -> Header:
    # `mif1` says only "a HEIF picture"; what it is coded with stands among the compatible brands.
    avif = data[8:12] in (b"avif", b"avis") or b"avif" in data[16 : int.from_bytes(data[:4], "big")]
    sizes = [struct.unpack_from(">II", payload, 4) for kind, payload in heif.properties(data) if kind == b"ispe"]
    if not sizes:
        raise CorruptImage("The AVIF or HEIC file gives no picture size.")
    width, height = max(sizes, key=lambda size: size[0] * size[1])  # tiles and alpha carry sizes of their own
    return Header("avif" if avif else "heic", width, height, animated=data[8:12] in (b"avis", b"msf1", b"hevc"))
