"""Which way up: all eight orientations in every format that carries them, as Pillow turns them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from handler import exif, heif
from tests.pictures import (
    ORIENTATION,
    asymmetric,
    by_pillow,
    decoded,
    difference,
    encoded,
    jpeg_with,
    with_orientation,
)

EIGHT = range(1, 9)
# By hand, on rows of letters: what a picture stored as "ab/cd" is meant to look like.
BY_HAND = {1: "ab/cd", 2: "ba/dc", 3: "dc/ba", 4: "cd/ab", 5: "ac/bd", 6: "ca/db", 7: "db/ca", 8: "bd/ac"}


@pytest.mark.parametrize("orientation", EIGHT)
def test_upright_turns_a_two_by_two_picture_as_drawn_by_hand(orientation: int) -> None:
    stored = np.array([[ord("a"), ord("b")], [ord("c"), ord("d")]], np.uint8)
    turned = exif.upright(stored, orientation)
    assert "/".join(bytes(row).decode() for row in turned) == BY_HAND[orientation]


@pytest.mark.parametrize("orientation", EIGHT)
@pytest.mark.parametrize(("format", "levels"), [("JPEG", 2), ("PNG", 0), ("WEBP", 0), ("TIFF", 0), ("AVIF", 2)])
def test_every_format_is_turned_as_pillow_turns_it(format: str, levels: int, orientation: int) -> None:
    data = with_orientation(format, orientation)
    photo = decoded(data)
    assert photo.size == ((96, 64) if orientation < 5 else (64, 96))
    assert difference(photo.rgb, by_pillow(data)) <= levels


def test_a_heic_is_turned_by_its_container_alone_as_pillow_heif_does(shared: Callable[[str], Path]) -> None:
    pillow_heif = pytest.importorskip("pillow_heif", reason="the extra `heic` is not installed")
    pillow_heif.register_heif_opener()
    from_exif = with_orientation("HEIF", 6)  # written without irot
    assert difference(decoded(from_exif).rgb, by_pillow(from_exif)) == 0
    from_phone = shared("data/awkward/avif-heic/exifsamples_IMG_5195.HEIC").read_bytes()
    turned = from_phone.replace(b"irot\x00", b"irot\x01")
    assert np.array_equal(decoded(turned).rgb, np.rot90(decoded(from_phone).rgb))


@pytest.mark.parametrize("orientation", EIGHT)
def test_a_jpeg_decoded_at_a_reduced_scale_is_turned_the_same(orientation: int) -> None:
    data = with_orientation("JPEG", orientation, asymmetric(800, 400))
    photo = decoded(data, wanted_side=50)
    assert photo.size == ((100, 50) if orientation < 5 else (50, 100))
    assert photo.full == ((800, 400) if orientation < 5 else (400, 800))
    small = Image.fromarray(by_pillow(data)).resize(photo.size, Image.Resampling.BOX)
    assert difference(photo.rgb, np.asarray(small)) <= 4


def test_exif_in_an_avif_does_not_turn_what_its_container_leaves() -> None:
    # MIAF (ISO/IEC 23000-22) says that only irot and imir count. Pillow writes both; here they are taken out.
    data = with_orientation("AVIF", 6)
    bare = data.replace(b"irot\x03", b"irot\x00")
    assert bare != data
    assert decoded(bare).size == (96, 64)


@pytest.mark.parametrize("turns", range(4))
@pytest.mark.parametrize("mirror", [None, 0, 1])
def test_irot_and_imir_are_turned_first_and_mirrored_then(turns: int, mirror: int | None) -> None:
    stored = asymmetric(5, 3)
    expected = np.rot90(stored, turns)  # numpy turns against the clock, as irot does
    expected = expected if mirror is None else np.flip(expected, mirror)
    known = [(b"irot", bytes([turns])), *([] if mirror is None else [(b"imir", bytes([mirror]))])]
    assert np.array_equal(exif.upright(stored, heif.orientation(known)), expected)


def exif_block(value: int, kind: int = 3, order: str = "<", count: int = 1) -> bytes:
    """An EXIF block whose only entry is Orientation. Kinds: 1 byte, 3 short, 4 long."""
    mark = b"II*\0" if order == "<" else b"MM\0*"
    form = {1: "Bxxx", 3: "Hxx", 4: "I"}[kind]
    entry = struct.pack(order + "HHI" + form, ORIENTATION, kind, count, value)
    return b"Exif\0\0" + mark + struct.pack(order + "IH", 8, 1) + entry + bytes(4)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", [1, 3, 4])
def test_orientation_is_read_in_either_byte_order_and_any_width(order: str, kind: int) -> None:
    assert exif.orientation(exif_block(6, kind, order)) == 6
    assert exif.orientation(exif_block(6, kind, order)[6:]) == 6, "PNG and WebP leave the prefix out"


@pytest.mark.parametrize("value", [0, 9, 255, 65535])
def test_a_value_that_is_no_orientation_means_as_stored(value: int) -> None:
    assert exif.orientation(exif_block(value)) == 1


def test_damaged_exif_means_as_stored() -> None:
    whole = exif_block(6)
    assert {exif.orientation(whole[:length]) for length in range(26)} == {1}
    assert exif.orientation(b"Exif\0\0garbage") == 1
    assert exif.orientation(exif_block(6)[:10] + b"\xff\xff\xff\x7f") == 1


def test_of_two_exif_segments_the_first_counts() -> None:
    data = encoded(asymmetric(), "JPEG")
    twice = jpeg_with(data, (0xE1, exif_block(6)), (0xE1, exif_block(3)))
    assert difference(decoded(twice).rgb, np.rot90(by_pillow(data), -1)) <= 2


def test_xmp_before_exif_does_not_hide_it() -> None:
    data = encoded(asymmetric(), "JPEG")
    both = jpeg_with(data, (0xE1, b"http://ns.adobe.com/xap/1.0/\0<x/>"), (0xE1, exif_block(8)))
    assert decoded(both).size == (64, 96)
