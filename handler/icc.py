"""Wide-gamut photos to sRGB: ICC matrix profiles (Display P3, Adobe RGB, ProPhoto …) without a colour library.

A matrix profile holds three tone curves and the three primaries in D50 XYZ. So a pixel goes through its
curves, a 3×3 matrix to linear sRGB, and sRGB's own curve. Profiles made of lookup tables are left alone
and reported, as every other kind is.

Source: ICC.1:2022, 10.6 curveType, 10.18 parametricCurveType, F.3 three-component matrix-based profiles;
IEC 61966-2-1 for sRGB, its primaries adapted to D50 by Bradford as every sRGB profile has them.
"""

from __future__ import annotations

import struct

import cv2
import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

SRGB_TO_D50 = np.array(
    [[0.4360747, 0.3850649, 0.1430804], [0.2225045, 0.7168786, 0.0606169], [0.0139322, 0.0971045, 0.7141733]]
)
STEPS = 4096  # linear light is quantised this finely before sRGB's curve: under half an 8-bit step everywhere
CLOSE = 0.004  # one 8-bit step: a profile whose colours stay closer than that is sRGB under another name


class UnsupportedProfile(Exception):
    """The profile is damaged or not a three-colour matrix profile."""


def to_srgb(rgb: NDArray[np.uint8], profile: bytes) -> NDArray[np.uint8]:
    """H×W×3 RGB in the profile's space -> H×W×3 in sRGB. Raises UnsupportedProfile."""
    curves, matrix = matrix_profile(profile)
    if _is_srgb(curves, matrix):
        return rgb
    linear = cv2.LUT(rgb, np.ascontiguousarray(curves.T[None]).astype(np.float32))  # H×W×3, 0 to 1
    mixed = cv2.transform(linear, matrix)
    index = np.clip(mixed * (STEPS - 1) + 0.5, 0, STEPS - 1).astype(np.uint16)
    encoded: NDArray[np.uint8] = _srgb_table()[index]
    return encoded


def matrix_profile(profile: bytes) -> tuple[Float, Float]:
    """(3×256 tone curves to linear light, 3×3 matrix from linear RGB to linear sRGB)."""
    try:
        tags = _tags(profile)
        if profile[16:24] == b"GRAYXYZ ":
            return np.stack([_curve(tags[b"kTRC"])] * 3), np.eye(3)  # its white becomes white
        if profile[16:24] != b"RGB XYZ ":
            raise UnsupportedProfile("neither RGB nor grey")
        curves = np.stack([_curve(tags[name]) for name in (b"rTRC", b"gTRC", b"bTRC")])
        columns = [struct.unpack_from(">3i", tags[name], 8) for name in (b"rXYZ", b"gXYZ", b"bXYZ")]
    except (struct.error, KeyError, IndexError, ValueError) as error:
        raise UnsupportedProfile(f"damaged or not a matrix profile ({error!r})") from None
    if not np.isfinite(curves).all():
        raise UnsupportedProfile("its tone curves are not finite")
    return curves, np.linalg.solve(SRGB_TO_D50, np.array(columns).T / 65536.0)


def _tags(profile: bytes) -> dict[bytes, bytes]:
    count = struct.unpack_from(">I", profile, 128)[0]
    entries = (struct.unpack_from(">4sII", profile, 132 + 12 * i) for i in range(min(count, 100)))
    return {name: profile[offset : offset + size] for name, offset, size in entries}


def _curve(tag: bytes) -> Float:
    """256 samples of a tone curve, 0…1 -> 0…1."""
    x: Float = np.linspace(0.0, 1.0, 256)
    if tag[:4] == b"para":
        return _parametric(x, struct.unpack_from(">H", tag, 8)[0], tag)
    if tag[:4] != b"curv":
        raise ValueError(f"tone curve of type {tag[:4]!r}")
    count: int = struct.unpack_from(">I", tag, 8)[0]
    if count == 0:
        return x
    if count == 1:
        return _power(x, struct.unpack_from(">H", tag, 12)[0] / 256.0)
    samples = np.frombuffer(tag, ">u2", count, 12) / 65535.0
    return np.asarray(np.interp(x, np.linspace(0.0, 1.0, count), samples))


def _parametric(x: Float, kind: int, tag: bytes) -> Float:
    given = struct.unpack_from(f">{(1, 3, 4, 5, 7)[kind]}i", tag, 12)
    g, a, b, c, d, e, f = np.pad(np.array(given) / 65536.0, (0, 7 - len(given)))
    if kind == 0:
        return _power(x, g)
    power = _power(np.maximum(a * x + b, 0.0), g)
    if kind in (1, 2):
        return np.asarray(np.where(a * x + b >= 0.0, power + c, c))
    return np.asarray(np.where(x >= d, power + e, c * x + f))


def _power(x: Float, exponent: float) -> Float:
    with np.errstate(all="ignore"):  # a curve that is not finite is refused as a whole
        return np.asarray(x**exponent)


def _srgb_table() -> NDArray[np.uint8]:
    linear = np.linspace(0.0, 1.0, STEPS)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(encoded * 255), dtype=np.uint8)


def _is_srgb(curves: Float, matrix: Float) -> bool:
    x = np.linspace(0.0, 1.0, 256)
    srgb = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    return bool(np.abs(curves - srgb).max() < CLOSE and np.abs(matrix - np.eye(3)).max() < CLOSE)
