"""What an image file says of itself in its first bytes: format and size, before anything is decoded.

A decoder that trusts a header can be made to allocate gigabytes, so limits are checked against what
`probe` reads, and the formats that we do not decode are named instead of failing as noise.

Sources: JPEG ITU-T T.81 annex B; PNG (W3C, third edition) chunks IHDR and acTL; WebP RFC 9649; GIF89a;
BMP DIB headers; TIFF 6.0; AVIF and HEIF ISO/IEC 23008-12 (boxes ftyp and ispe).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from handler.errors import CorruptImage, UnsupportedFormat

Format = Literal["jpeg", "png", "webp", "gif", "bmp", "tiff", "avif", "heic"]

SUPPORTED = "JPEG, PNG, WebP, GIF, BMP, TIFF and AVIF"

# Start-of-frame markers, less DHT (C4), JPG (C8) and DAC (CC), which share their range.
JPEG_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
MOST_JPEG_SEGMENTS = 10_000  # a real photo has a few dozen; more is an attempt to keep us reading
JPEG_STANDALONE = frozenset([0x01, *range(0xD0, 0xD9)])

NAMED_ELSEWHERE: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x00\x00\x01\x00", "a Windows icon"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\x00\x00\x00\x0cJXL ", "JPEG XL"),
    (b"\x00\x00\x00\x0cjP  ", "JPEG 2000"),
    (b"\xff\x4f\xff\x51", "JPEG 2000"),
    (b"8BPS", "a Photoshop document"),
    (b"\x76\x2f\x31\x01", "OpenEXR"),
    (b"#?RADIANCE", "Radiance HDR"),
    (b"data:", "a data URI as text"),
)


@dataclass(frozen=True, slots=True)
class Header:
    """Format, width and height in pixels (before orientation), and whether there is more than one frame."""

    format: Format
    width: int
    height: int
    animated: bool = False

    @property
    def pixels(self) -> int:
        return self.width * self.height


def probe(data: bytes) -> Header:
    """Read the header of an image. Raises UnsupportedFormat, naming what was seen, or CorruptImage."""
    for signature, reader in READERS:
        if signature.match(data):
            return _checked(reader, data)
    raise UnsupportedFormat(f"This is {_seen(data)}; send {SUPPORTED}.")


def _checked(reader: Reader, data: bytes) -> Header:
    try:
        header = reader(data)
    except (struct.error, IndexError, ValueError):
        raise CorruptImage("The file ends inside its header; send the whole file.") from None
    if header.width < 1 or header.height < 1:
        raise CorruptImage(f"The header gives a size of {header.width}×{header.height} pixels.")
    return header


def _seen(data: bytes) -> str:
    head = data[:64].lstrip()
    for magic, name in NAMED_ELSEWHERE:
        if data.startswith(magic):
            return name
    if head[:5].lower() in (b"<svg ", b"<?xml", b"<!doc", b"<html"):
        return "SVG, XML or HTML text"
    if head and all(32 <= byte < 127 or byte in b"\r\n\t" for byte in head):
        return "plain text"
    return f"no image format known here (it begins with {data[:4].hex(' ')})"


def _jpeg(data: bytes) -> Header:
    at = 2
    for _ in range(MOST_JPEG_SEGMENTS):
        at = data.index(0xFF, at)  # some cameras leave junk between segments; libjpeg skips it as well
        while data[at] == 0xFF:
            at += 1
        marker = data[at]
        at += 1
        if marker in JPEG_SOF:
            height, width = struct.unpack_from(">HH", data, at + 3)
            return Header("jpeg", width, height)
        if marker in (0xD9, 0xDA):
            raise CorruptImage("The JPEG has no frame header before its data.")
        if marker not in JPEG_STANDALONE:
            at += max(2, struct.unpack_from(">H", data, at)[0])
    raise CorruptImage(f"The JPEG has no frame header in its first {MOST_JPEG_SEGMENTS} segments.")


def _png(data: bytes) -> Header:
    width, height = struct.unpack_from(">II", data, 16)
    first_data = data.find(b"IDAT", 33)
    return Header("png", width, height, animated=b"acTL" in data[33 : max(first_data, 33)])


def _gif(data: bytes) -> Header:
    width, height = struct.unpack_from("<HH", data, 6)
    return Header("gif", width, height, animated=data.count(b"\x00\x21\xf9\x04") > 1)


def _bmp(data: bytes) -> Header:
    if struct.unpack_from("<I", data, 14)[0] == 12:
        return Header("bmp", *struct.unpack_from("<HH", data, 18))
    width, height = struct.unpack_from("<ii", data, 18)
    return Header("bmp", width, abs(height))  # a negative height means that rows run from the top


def _webp(data: bytes) -> Header:
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


def _tiff(data: bytes) -> Header:
    order = byte_order(data)
    tags = {tag: value for tag, value, _ in tiff_entries(data, order)}
    if not {256, 257} <= tags.keys():
        raise CorruptImage("The TIFF's first directory gives no width and height.")
    directory = struct.unpack_from(order + "I", data, 4)[0]
    following = directory + 2 + 12 * struct.unpack_from(order + "H", data, directory)[0]
    return Header("tiff", tags[256], tags[257], animated=data[following : following + 4] not in (b"", b"\0\0\0\0"))


def byte_order(tiff: bytes) -> str:
    """struct's mark for the byte order of a TIFF or EXIF block."""
    return "<" if tiff[:2] == b"II" else ">"


def tiff_entries(data: bytes, order: str) -> Iterator[tuple[int, int, int]]:
    """First TIFF directory: (tag, its first value or the offset of its values, where that stands)."""
    at: int = struct.unpack_from(order + "I", data, 4)[0]
    count: int = struct.unpack_from(order + "H", data, at)[0]
    for entry in range(at + 2, at + 2 + 12 * count, 12):
        tag, kind = struct.unpack_from(order + "HH", data, entry)
        form = {1: "B", 3: "H"}.get(kind, "I")
        yield tag, struct.unpack_from(order + form, data, entry + 8)[0], entry + 8


def _heif(data: bytes) -> Header:
    # `mif1` says only "a HEIF picture"; what it is coded with stands among the compatible brands.
    avif = data[8:12] in (b"avif", b"avis") or b"avif" in data[16 : int.from_bytes(data[:4], "big")]
    sizes = [struct.unpack_from(">II", data, match.end() + 4) for match in re.finditer(b"ispe", data)]
    if not sizes:
        raise CorruptImage("The AVIF or HEIC file gives no picture size.")
    width, height = max(sizes, key=lambda size: size[0] * size[1])  # tiles and alpha carry sizes of their own
    return Header("avif" if avif else "heic", width, height, animated=data[8:12] in (b"avis", b"msf1", b"hevc"))


Reader = Callable[[bytes], Header]
READERS: tuple[tuple[re.Pattern[bytes], Reader], ...] = (
    (re.compile(rb"\xff\xd8\xff"), _jpeg),
    (re.compile(rb"\x89PNG\r\n\x1a\n"), _png),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), _webp),
    (re.compile(rb"GIF8[79]a"), _gif),
    (re.compile(rb"BM"), _bmp),
    (re.compile(rb"II\*\x00|MM\x00\*"), _tiff),
    (re.compile(rb".{4}ftyp(avif|avis|heic|heix|hevc|hevx|heim|heis|mif1|msf1)", re.DOTALL), _heif),
)
