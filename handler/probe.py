"""What an image file says of itself in its first bytes: format and size, before anything is decoded.

A decoder that trusts a header can be made to allocate gigabytes, so limits are checked against what
`probe` reads, and the formats that we do not decode are named instead of failing as noise.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from handler import headers
from handler.errors import CorruptImage, UnsupportedFormat
from handler.headers import Format, Header

__all__ = ["SUPPORTED", "Format", "Header", "probe"]

SUPPORTED = "JPEG, PNG, WebP, GIF, BMP, TIFF or AVIF"

NAMED_ELSEWHERE: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF document"),
    (b"PK", "a ZIP archive"),
    (b"\x00\x00\x01\x00", "a Windows icon"),
    (b"\xff\x0a", "JPEG XL"),
    (b"\x00\x00\x00\x0cJXL ", "JPEG XL"),
    (b"\x00\x00\x00\x0cjP  ", "JPEG 2000"),
    (b"\xff\x4f\xff\x51", "JPEG 2000"),
    (b"8BPS", "a Photoshop document"),
    (b"\x76\x2f\x31\x01", "OpenEXR"),
    (b"#?RADIANCE", "Radiance HDR"),
    (b"II+\x00", "a BigTIFF"),
    (b"MM\x00+", "a BigTIFF"),
    (b"data:", "a data URI as text"),
)

READERS: tuple[tuple[re.Pattern[bytes], Callable[[bytes], Header]], ...] = (
    (re.compile(rb"\xff\xd8"), headers.jpeg),
    (re.compile(rb"\x89PNG"), headers.png),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), headers.webp),
    (re.compile(rb"GIF8[79]a"), headers.gif),
    (re.compile(rb"BM"), headers.bmp),
    (re.compile(rb"II\*\x00|MM\x00\*"), headers.tiff),
    (re.compile(rb".{4}ftyp(avif|avis|heic|heix|hevc|hevx|heim|heis|mif1|msf1)", re.DOTALL), headers.avif_or_heic),
)


def probe(data: bytes) -> Header:
    """Read the header of an image. Raises UnsupportedFormat, naming what was seen, or CorruptImage."""
    for signature, reader in READERS:
        if signature.match(data):
            return _checked(reader, data)
    raise UnsupportedFormat(f"This is {_seen(data)}; send {SUPPORTED}.")


def _checked(reader: Callable[[bytes], Header], data: bytes) -> Header:
    try:
        header = reader(data)
    except (struct.error, IndexError, ValueError):
        raise CorruptImage("The file is damaged or ends inside its header; send the whole file.") from None
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
    return f"no image format known here (it begins with {data[:4].hex(' ') or 'nothing'})"
