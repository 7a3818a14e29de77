"""The directory of a TIFF, which is what an EXIF block is as well. Source: TIFF 6.0, section 2."""

from __future__ import annotations

import struct
from collections.abc import Iterator

EIGHT_BYTES = frozenset([16, 17, 18])  # LONG8, SLONG8 and IFD8, which only BigTIFF has


def byte_order(tiff: bytes) -> str:
    """struct's mark for the byte order of a TIFF or EXIF block."""
    return "<" if tiff[:2] == b"II" else ">"


def tiff_entries(data: bytes, order: str) -> Iterator[tuple[int, int, int]]:
    """First directory: (tag, its first value or the offset of its values, where that stands).

    Raises struct.error where the data end first.
    """
    at: int = struct.unpack_from(order + "I", data, 4)[0]
    count: int = struct.unpack_from(order + "H", data, at)[0]
    for entry in range(at + 2, at + 2 + 12 * count, 12):
        tag, kind = struct.unpack_from(order + "HH", data, entry)
        if kind in EIGHT_BYTES:  # libtiff takes them in a classic TIFF too, and would read another value than we
            raise struct.error("an entry of BigTIFF in a classic TIFF")
        form = {1: "B", 3: "H"}.get(kind, "I")
        yield tag, struct.unpack_from(order + form, data, entry + 8)[0], entry + 8


def tiff_tags(data: bytes) -> dict[int, int]:
    """Tag to value of the first directory; of a tag that stands twice the first counts, as for libtiff."""
    tags: dict[int, int] = {}
    for tag, value, _ in tiff_entries(data, byte_order(data)):
        tags.setdefault(tag, value)
    return tags


def tiff_value(data: bytes, tag: int) -> bytes:
    """The bytes of a tag whose values stand elsewhere in the file; empty when it is absent or outside."""
    order = byte_order(data)
    for found, offset, at in tiff_entries(data, order):
        if found == tag:
            return data[offset : offset + int(struct.unpack_from(order + "I", data, at - 4)[0])]
    return b""


def pages(data: bytes) -> int:
    """1, or 2 where another directory follows the first."""
    order = byte_order(data)
    at: int = struct.unpack_from(order + "I", data, 4)[0]
    end = at + 2 + 12 * int(struct.unpack_from(order + "H", data, at)[0])
    return 1 if data[end : end + 4] in (b"", b"\0\0\0\0") else 2
