"""Pictures made on the spot: small, asymmetric, in every format and with every kind of metadata.

They are written by Pillow, so what OpenCV makes of them is checked against another library.
"""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from handler import image
from handler.image import Photo

Pixels = NDArray[np.uint8]
ORIENTATION = 0x0112


def asymmetric(width: int = 96, height: int = 64) -> Pixels:
    """H×W×3 RGB: smooth, no two corners alike, so that every turn and mirroring shows; survives compression."""
    rows, columns = np.mgrid[0:height, 0:width]
    red, green = columns * 255 // max(width - 1, 1), rows * 255 // max(height - 1, 1)
    return np.dstack([red, green, 255 - (red + green) // 2]).astype(np.uint8)


def noise(width: int, height: int, channels: int = 3, seed: int = 0) -> Pixels:
    """H×W×C uniform noise, the same for the same seed."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)


def encoded(pixels: Pixels | Image.Image, format: str, **options: Any) -> bytes:
    """Pixels (H×W, H×W×3 or H×W×4) as a file that Pillow writes, at its best quality where it is lossy."""
    picture = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    best: dict[str, dict[str, Any]] = {
        "JPEG": {"quality": 100, "subsampling": 0},
        "WEBP": {"lossless": True},
        "AVIF": {"quality": 100, "subsampling": "4:4:4"},
    }
    out = BytesIO()
    picture.save(out, format, **{**best.get(format, {}), **options})
    return out.getvalue()


def with_orientation(format: str, orientation: int, pixels: Pixels | None = None) -> bytes:
    """A picture whose EXIF (in TIFF its own tag, in AVIF irot and imir as well) says which way up it is."""
    picture = Image.fromarray(asymmetric() if pixels is None else pixels)
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return encoded(picture, format, exif=exif)


def by_pillow(data: bytes) -> Pixels:
    """What Pillow sees upright, on white, as H×W×3."""
    picture = ImageOps.exif_transpose(Image.open(BytesIO(data)))
    if picture.has_transparency_data:
        front = picture.convert("RGBA")
        picture = Image.new("RGBA", front.size, "white")
        picture.alpha_composite(front)
    return np.asarray(picture.convert("RGB"))


def decoded(data: bytes, wanted_side: int = 65535) -> Photo:
    """What the handler makes of it, within the default limits."""
    header = image.check(data, max_bytes=20 * 2**20, max_pixels=50_000_000)
    return image.decode(data, header, wanted_side)


def difference(a: Pixels, b: Pixels) -> int:
    """The largest difference of two pictures of the same size in any sample, in levels."""
    assert a.shape == b.shape, f"{a.shape} is not {b.shape}"
    return int(np.abs(a.astype(int) - b.astype(int)).max())


def png_chunk(kind: bytes, body: bytes) -> bytes:
    """One PNG chunk with its checksum."""
    import zlib

    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_header(width: int, height: int, bits: int = 8, kind: int = 2) -> bytes:
    """Signature and IHDR of a PNG, and nothing after them. Kinds: 0 grey, 2 RGB, 3 palette, 4 and 6 with alpha."""
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0))


def png(samples: NDArray[np.generic], kind: int, *chunks: bytes) -> bytes:
    """H×W×C samples of 8 or 16 bits as an unfiltered PNG of that kind, with chunks between IHDR and IDAT."""
    import zlib

    height, width = samples.shape[:2]
    wide = samples.dtype == np.uint16
    rows = samples.astype(">u2" if wide else np.uint8).reshape(height, -1)
    data = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    head = png_header(width, height, 16 if wide else 8, kind)
    return head + b"".join(chunks) + png_chunk(b"IDAT", data) + png_chunk(b"IEND", b"")


def jpeg_with(data: bytes, *segments: tuple[int, bytes]) -> bytes:
    """A JPEG with segments (marker, body) put behind its first two bytes."""
    packed = b"".join(struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body for marker, body in segments)
    return data[:2] + packed + data[2:]


def bmp(
    rows: list[bytes], width: int, bits: int, header: int = 40, masks: tuple[int, ...] = (), palette: bytes = b""
) -> bytes:
    """A BMP of unpadded rows from the bottom up; with masks its compression is BI_BITFIELDS."""
    body = b"".join(row + b"\0" * (-len(row) % 4) for row in rows)
    fields = (header, width, len(rows), 1, bits, 3 if masks else 0, len(body), 0, 0, len(palette) // 4, 0)
    dib = struct.pack("<IiiHHIIiiII", *fields) + struct.pack(f"<{len(masks)}I", *masks)
    dib += b"\0" * max(0, header - len(dib)) + palette
    return struct.pack("<2sIHHI", b"BM", 14 + len(dib) + len(body), 0, 0, 14 + len(dib)) + dib + body


def matrix_profile(primaries: dict[str, tuple[float, float]], curve: bytes, space: bytes = b"RGB ") -> bytes:
    """An ICC v2 display profile from xy primaries with a D65 white, adapted to D50 by Bradford."""
    white = np.array([0.3127 / 0.3290, 1.0, (1 - 0.3127 - 0.3290) / 0.3290])
    d50 = np.array([0.9642, 1.0, 0.8249])
    xyz = np.array([[x / y, 1.0, (1 - x - y) / y] for x, y in primaries.values()]).T
    bradford = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
    adapt = np.linalg.inv(bradford) @ np.diag((bradford @ d50) / (bradford @ white)) @ bradford
    columns = (adapt @ (xyz * np.linalg.solve(xyz, white))).T
    tags = {b"wtpt": _xyz(d50), b"desc": b"desc" + bytes(4) + struct.pack(">I", 5) + b"test\0" + bytes(78)}
    tags |= {name: _xyz(column) for name, column in zip((b"rXYZ", b"gXYZ", b"bXYZ"), columns, strict=True)}
    tags |= dict.fromkeys((b"rTRC", b"gTRC", b"bTRC"), curve)
    return profile(tags, space)


def profile(tags: dict[bytes, bytes], space: bytes = b"RGB ", connection: bytes = b"XYZ ") -> bytes:
    """An ICC profile of these tags: a display's, version 2.4 (4.0 where a curve is parametric)."""
    at, table, body = 132 + 12 * len(tags), b"", b""
    for name, value in tags.items():
        value += b"\0" * (-len(value) % 4)
        table += name + struct.pack(">II", at + len(body), len(value))
        body += value
    version = 0x04000000 if any(value[:4] == b"para" for value in tags.values()) else 0x02400000
    head = struct.pack(">I4sI4s4s4s", at + len(body), b"lcms", version, b"mntr", space, connection)
    head += bytes(12) + b"acsp" + bytes(28) + struct.pack(">3i", 63190, 65536, 54061)
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body


def gamma_curve(exponent: float) -> bytes:
    return b"curv" + bytes(4) + struct.pack(">IH", 1, round(exponent * 256))


def parametric_curve(kind: int, *values: float) -> bytes:
    numbers = [round(value * 65536) for value in values]
    return b"para" + bytes(4) + struct.pack(f">HH{len(numbers)}i", kind, 0, *numbers)


def sampled_curve(samples: list[int]) -> bytes:
    return b"curv" + bytes(4) + struct.pack(f">I{len(samples)}H", len(samples), *samples)


def _xyz(values: NDArray[np.float64]) -> bytes:
    return b"XYZ " + bytes(4) + struct.pack(">3i", *(round(float(value) * 65536) for value in values))
