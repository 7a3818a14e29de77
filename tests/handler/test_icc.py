"""Wide-gamut colours to sRGB, against LittleCMS."""

from __future__ import annotations

import struct
from contextlib import suppress
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageCms

from handler import icc, image
from tests import pictures
from tests.pictures import Pixels, decoded, encoded, gamma_curve, parametric_curve, sampled_curve

SRGB_CURVE = parametric_curve(3, 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045)
SRGB = {"red": (0.64, 0.33), "green": (0.30, 0.60), "blue": (0.15, 0.06)}
P3 = {"red": (0.680, 0.320), "green": (0.265, 0.690), "blue": (0.150, 0.060)}
ADOBE = {"red": (0.64, 0.33), "green": (0.21, 0.71), "blue": (0.15, 0.06)}
PROPHOTO = {"red": (0.7347, 0.2653), "green": (0.1596, 0.8404), "blue": (0.0366, 0.0001)}
PROFILES = {
    "Display P3": pictures.matrix_profile(P3, SRGB_CURVE),
    "Adobe RGB": pictures.matrix_profile(ADOBE, gamma_curve(2.19921875)),
    "ProPhoto": pictures.matrix_profile(PROPHOTO, gamma_curve(1.8)),
    "Display P3, sampled": pictures.matrix_profile(
        P3, sampled_curve([round(65535 * (i / 1023) ** 2.2) for i in range(1024)])
    ),
    "linear": pictures.matrix_profile(SRGB, sampled_curve([])),
}


def lattice() -> Pixels:
    """32×128×3: every colour of 16 levels a channel."""
    levels = np.arange(0, 256, 17, np.uint8)
    return np.stack(np.meshgrid(levels, levels, levels), -1).reshape(32, 128, 3)


def by_littlecms(rgb: Pixels, profile: bytes, target: ImageCms.ImageCmsProfile | None = None) -> Pixels:
    source, srgb = ImageCms.ImageCmsProfile(BytesIO(profile)), target or ImageCms.createProfile("sRGB")
    intent = ImageCms.Intent.RELATIVE_COLORIMETRIC
    converted = ImageCms.profileToProfile(Image.fromarray(rgb), source, srgb, renderingIntent=intent)
    assert converted is not None
    return np.asarray(converted)


@pytest.mark.parametrize("name", PROFILES)
def test_colours_inside_srgb_are_within_two_levels_of_littlecms(name: str) -> None:
    rgb = lattice()
    ours, theirs = icc.to_srgb(rgb, PROFILES[name]).astype(int), by_littlecms(rgb, PROFILES[name]).astype(int)
    inside = ((theirs > 0) & (theirs < 255)).all(axis=2)
    assert inside.sum() > 100
    assert np.abs(ours - theirs)[inside].max() <= 2


@pytest.mark.parametrize("name", PROFILES)
def test_greys_stay_grey_and_black_and_white_stay(name: str) -> None:
    grey = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, 2)
    ours = icc.to_srgb(grey, PROFILES[name]).astype(int)
    assert np.ptp(ours, axis=2).max() <= 1
    assert ours[0, 0].tolist() == [0, 0, 0]
    assert ours[0, 255].min() >= 254


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (0, (2.2,)),
        (1, (2.2, 0.9, 0.1)),
        (2, (2.2, 0.85, 0.1, 0.05)),
        (3, (2.4, 0.948, 0.052, 0.0774, 0.04)),
        (4, (2.4, 0.9, 0.052, 0.0774, 0.04, 0.03, 0.0)),
    ],
)
def test_every_parametric_curve_is_followed_as_littlecms_follows_it(kind: int, values: tuple[float, ...]) -> None:
    profile = pictures.matrix_profile(ADOBE, parametric_curve(kind, *values))
    rgb = lattice()
    ours, theirs = icc.to_srgb(rgb, profile).astype(int), by_littlecms(rgb, profile).astype(int)
    inside = ((theirs > 0) & (theirs < 255)).all(axis=2)
    assert np.abs(ours - theirs)[inside].max() <= 2


def test_srgb_under_another_name_changes_nothing() -> None:
    rgb = lattice()
    pillow_s = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for profile in (pictures.matrix_profile(SRGB, SRGB_CURVE), pillow_s):
        assert np.array_equal(icc.to_srgb(rgb, profile), rgb)


def test_a_grey_profile_bends_the_greys_as_littlecms_does() -> None:
    profile = pictures.profile({b"kTRC": gamma_curve(1.8), b"wtpt": b"XYZ " + bytes(4) + D50}, space=b"GRAY")
    grey = np.arange(256, dtype=np.uint8)[None]
    source, target = ImageCms.ImageCmsProfile(BytesIO(profile)), ImageCms.createProfile("sRGB")
    theirs = ImageCms.profileToProfile(Image.fromarray(grey), source, target, outputMode="RGB")
    assert theirs is not None
    ours = icc.to_srgb(np.repeat(grey[:, :, None], 3, 2), profile)
    assert np.abs(ours.astype(int) - np.asarray(theirs)).max() <= 2


D50 = struct.pack(">3i", 63190, 65536, 54061)
WHOLE = PROFILES["Adobe RGB"]
LUT = pictures.profile({b"A2B0": b"mft2" + bytes(4096)}, connection=b"Lab ")


@pytest.mark.parametrize(
    "profile",
    [
        LUT,
        pictures.profile({b"A2B0": b"mft2" + bytes(44)}, space=b"CMYK", connection=b"Lab "),
        pictures.profile({b"rTRC": b"curv" + bytes(4) + struct.pack(">I", 2**31)}),
        pictures.matrix_profile(ADOBE, b"what" + bytes(8)),
        pictures.matrix_profile(ADOBE, parametric_curve(9, 1.0)),
        pictures.matrix_profile(ADOBE, parametric_curve(0, -2.2)),
        WHOLE[:200],
        b"",
        b"not a profile at all",
    ],
    ids=["lut", "cmyk", "endless", "no curve", "unknown curve", "infinite", "cut", "empty", "garbage"],
)
def test_a_profile_that_cannot_be_applied_raises_its_own_error(profile: bytes) -> None:
    with pytest.raises(icc.UnsupportedProfile):
        icc.to_srgb(lattice(), profile)


def test_a_profile_cut_or_flipped_anywhere_never_raises_another_error() -> None:
    rgb = lattice()[:1]
    flipped = [WHOLE[:at] + bytes([WHOLE[at] ^ 0x80]) + WHOLE[at + 1 :] for at in range(len(WHOLE))]
    for profile in [*flipped, *(WHOLE[:length] for length in range(len(WHOLE)))]:
        with suppress(icc.UnsupportedProfile):
            assert icc.to_srgb(rgb, profile).dtype == np.uint8


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_the_profile_of_every_format_reaches_the_colours(format: str) -> None:
    stored = np.full((40, 40, 3), (200, 80, 60), np.uint8)
    data = encoded(stored, format, icc_profile=PROFILES["Display P3"])
    photo = image.resize(decoded(data), (20, 20))
    expected = by_littlecms(stored[:1, :1], PROFILES["Display P3"])[0, 0].astype(int)
    assert np.abs(photo.rgb.astype(int) - expected).max() <= 3
    assert np.abs(expected - (200, 80, 60)).max() > 10, "or this would prove nothing"
    assert photo.profile == b""
    assert photo.warnings == ()


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_a_profile_of_tables_is_reported_and_the_colours_are_left(format: str) -> None:
    stored = np.full((8, 8, 3), (200, 80, 60), np.uint8)
    photo = image.resize(decoded(encoded(stored, format, icc_profile=LUT)), (8, 8))
    assert photo.warnings == ("The photo's colour profile could not be applied; its colours were taken as sRGB.",)
    assert np.abs(photo.rgb.astype(int) - (200, 80, 60)).max() <= 2
