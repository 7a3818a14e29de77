"""The boxes of an AVIF or HEIC file: what it says of its primary picture.

Source: ISO/IEC 14496-12 (boxes, pitm), ISO/IEC 23008-12 (iprp, ipco, ipma, ispe, irot, imir, colr), and
the AV1 codec configuration av1C of AV1-ISOBMFF.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

Property = tuple[bytes, bytes]  # kind of box and payload

# Quarter turns against the clock (irot), then mirroring (imir: 0 top to bottom, 1 left to right, None not)
# as EXIF orientation.
ORIENTATIONS: dict[tuple[int, int | None], int] = {
    (0, None): 1, (0, 0): 4, (0, 1): 2,
    (1, None): 8, (1, 0): 5, (1, 1): 7,
    (2, None): 3, (2, 0): 2, (2, 1): 4,
    (3, None): 6, (3, 0): 7, (3, 1): 5,
}  # fmt: skip


def boxes(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """(kind, start and end of the payload) of each box between `start` and `end`, clipped to `end`."""
    while start + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, start)
        payload = start + 8
        if size == 1:
            size, payload = struct.unpack_from(">Q", data, payload)[0], payload + 8
        after = end if size == 0 else start + size
        if after < payload:
            raise ValueError("a box is shorter than its header")
        yield kind, payload, min(after, end)
        start = after


def _inside(data: bytes, kind: bytes, start: int, end: int) -> tuple[int, int]:
    for found, first, last in boxes(data, start, end):
        if found == kind:
            return first, last
    raise ValueError(f"there is no {kind!r} box")


def properties(data: bytes) -> list[Property]:
    """Every property in the file, whatever item it is of. Raises ValueError or struct.error."""
    first, last = _inside(data, b"meta", 0, len(data))
    first, last = _inside(data, b"ipco", *_inside(data, b"iprp", first + 4, last))
    return [(kind, data[start:end]) for kind, start, end in boxes(data, first, last)]


def primary(data: bytes) -> list[Property]:
    """The properties of the primary picture, in order. Raises ValueError or struct.error."""
    first, last = _inside(data, b"meta", 0, len(data))
    at, _ = _inside(data, b"pitm", first + 4, last)
    item = struct.unpack_from(">I" if data[at] else ">H", data, at + 4)[0]
    at, _ = _inside(data, b"ipma", *_inside(data, b"iprp", first + 4, last))
    known = properties(data)
    return [known[index - 1] for index in _associations(data, at).get(item, []) if 0 < index <= len(known)]


def _associations(data: bytes, at: int) -> dict[int, list[int]]:
    """Payload of an ipma box at `at`: item to the numbers of its properties, from 1."""
    id_form, wide = (">I" if data[at] else ">H"), data[at + 3] & 1
    index_form, mask = (">H", 0x7FFF) if wide else (">B", 0x7F)
    count, at = struct.unpack_from(">I", data, at + 4)[0], at + 8
    found: dict[int, list[int]] = {}
    for _ in range(count):
        item, at = struct.unpack_from(id_form, data, at)[0], at + struct.calcsize(id_form)
        number, at = data[at], at + 1
        size = struct.calcsize(index_form)
        found[item] = [struct.unpack_from(index_form, data, at + i * size)[0] & mask for i in range(number)]
        at += number * size
    return found


def orientation(known: list[Property]) -> int:
    """EXIF orientation that does what irot and imir ask for. EXIF itself does not count here (MIAF)."""
    turns = next((payload[0] & 3 for kind, payload in known if kind == b"irot"), 0)
    mirror = next((payload[0] & 1 for kind, payload in known if kind == b"imir"), None)
    return ORIENTATIONS[turns, mirror]


def profile(known: list[Property]) -> bytes:
    """The ICC profile, or nothing. A picture may carry one and a code for its colours (nclx) as well."""
    colours = (payload for kind, payload in known if kind == b"colr")
    return next((payload[4:] for payload in colours if payload[:4] in (b"prof", b"rICC")), b"")


def bits(data: bytes) -> int:
    """Bits per sample of an AVIF: 8, 10 or 12."""
    for kind, payload in properties(data):
        if kind == b"av1C" and payload[2] & 0x40:  # high_bitdepth; twelve_bit follows it
            return 12 if payload[2] & 0x20 else 10
    return 8
