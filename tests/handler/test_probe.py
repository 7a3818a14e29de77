"""What the first bytes say: format, size, frames; and names for what isn't decoded here."""

from __future__ import annotations

import struct
from io import BytesIO

import pytest
from PIL import Image

from handler.errors import CorruptImage, UnsupportedFormat
from handler.headers import MOST_JPEG_SEGMENTS
from handler.probe import Header, probe
from tests.pictures import asymmetric, bmp, encoded, jpeg_with, png_chunk, png_header


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF"])
@pytest.mark.parametrize("size", [(1, 1), (33, 17), (300, 2)])
def test_format_and_size_are_those_that_pillow_reads(format: str, size: tuple[int, int]) -> None:
    data = encoded(asymmetric(*size), format)
    assert probe(data) == Header(format.lower(), *Image.open(BytesIO(data)).size)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "mode"),
    [({"lossless": False}, "RGB"), ({"lossless": True}, "RGB"), ({"lossless": False}, "RGBA")],
    ids=["VP8", "VP8L", "VP8X"],
)
def test_every_kind_of_webp_tells_its_size(options: dict[str, bool], mode: str) -> None:
    picture = Image.fromarray(asymmetric(37, 19)).convert(mode)
    if mode == "RGBA":
        picture.putalpha(100)
    header = probe(encoded(picture, "WEBP", **options))
    assert (header.width, header.height, header.animated) == (37, 19, False)


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG", "TIFF"])
def test_a_second_frame_is_noticed(format: str) -> None:
    frames = [Image.fromarray(asymmetric()), Image.fromarray(asymmetric()[::-1])]
    assert probe(encoded(frames[0], format, save_all=True, append_images=frames[1:], duration=100)).animated
    assert not probe(encoded(frames[0], format)).animated


def test_an_actl_in_a_png_s_text_is_no_animation() -> None:
    text = png_chunk(b"tEXt", b"Comment\0acTL")
    assert not probe(png_header(4, 4) + text + png_chunk(b"IDAT", b"") + png_chunk(b"IEND", b"")).animated


@pytest.mark.parametrize("progressive", [False, True])
def test_a_progressive_jpeg_is_known_by_its_frame_header(progressive: bool) -> None:
    assert probe(encoded(asymmetric(), "JPEG", progressive=progressive)).progressive is progressive


def test_a_top_down_bmp_has_a_positive_height() -> None:
    data = bytearray(bmp([b"\1\2\3" * 5] * 7, width=5, bits=24))
    data[22:26] = struct.pack("<i", -7)
    assert probe(bytes(data)) == Header("bmp", 5, 7)


def test_the_oldest_bmp_header_is_read_too() -> None:
    assert probe(b"BM" + bytes(12) + struct.pack("<IHHHH", 12, 31, 9, 1, 24)) == Header("bmp", 31, 9)


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_tiff_of_either_byte_order_tells_its_size(order: str) -> None:
    mark = b"II*\0" if order == "<" else b"MM\0*"
    entries = struct.pack(order + "HHIHxxHHIHxx", 256, 3, 1, 70, 257, 3, 1, 50)
    assert probe(mark + struct.pack(order + "IH", 8, 2) + entries + bytes(4)) == Header("tiff", 70, 50)


def test_of_a_tiff_tag_that_stands_twice_the_first_counts_as_it_does_for_libtiff() -> None:
    entries = [(256, 3, 1, 60000), (256, 3, 1, 1), (257, 3, 1, 60000)]
    body = b"".join(struct.pack("<HHIHxx", *entry) for entry in entries)
    assert probe(b"II*\0" + struct.pack("<IH", 8, 3) + body + bytes(4)).pixels == 3_600_000_000


def test_a_tiff_without_a_size_is_damaged() -> None:
    with pytest.raises(CorruptImage, match="no width and height"):
        probe(b"II*\0" + struct.pack("<IH", 8, 0) + bytes(4))


def test_junk_between_jpeg_segments_is_skipped_as_libjpeg_skips_it() -> None:
    data = encoded(asymmetric(), "JPEG")
    assert probe(data[:2] + b"junk\xff\x00\xff\xff\xff" + data[3:]) == Header("jpeg", 96, 64)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"%PDF-1.7", "PDF"),
        (b"PK\x03\x04", "ZIP"),
        (b"\x00\x00\x01\x00", "Windows icon"),
        (b"\xff\x0a", "JPEG XL"),
        (b"\x00\x00\x00\x0cjP  \r\n", "JPEG 2000"),
        (b"8BPS", "Photoshop"),
        (b"II+\x00", "BigTIFF"),
        (b"<svg xmlns=''>", "SVG"),
        (b"\n<!DOCTYPE html>", "HTML"),
        (b"data:image/png;base64,", "data URI"),
        (b"hello there", "plain text"),
        (b"\x01\x02\x03\x04\x05", "01 02 03 04"),
        (b"", "nothing"),
    ],
)
def test_what_is_not_decoded_is_named_and_what_is_is_listed(data: bytes, name: str) -> None:
    with pytest.raises(UnsupportedFormat, match=name) as refused:
        probe(data)
    assert "JPEG, PNG, WebP, GIF, BMP, TIFF or AVIF" in str(refused.value)


def sof(marker: int, precision: int = 8) -> tuple[int, bytes]:
    return marker, struct.pack(">BHHB", precision, 10, 20, 1) + bytes(3)


@pytest.mark.parametrize(("segment", "why"), [(sof(0xC3), "lossless"), (sof(0xC1, 12), "12 bits")])
def test_a_jpeg_that_no_browser_shows_is_unsupported_not_damaged(segment: tuple[int, bytes], why: str) -> None:
    with pytest.raises(UnsupportedFormat, match=why):
        probe(jpeg_with(b"\xff\xd8", segment))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\xff\xd8\xff\xd9", "no frame header"),
        (jpeg_with(b"\xff\xd8", *[(0xFE, b"")] * (MOST_JPEG_SEGMENTS + 1)), "segments"),
        (b"\x89PNG\r\r\n\x1a\r\n" + bytes(30), "transfer as text"),
        (png_header(0, 10), "0×10"),
        (b"GIF89a" + struct.pack("<HH", 3, 0) + bytes(3), "3×0"),
        (b"\0\0\0\x10ftypavif\0\0\0\0" + struct.pack(">I4s", 4, b"meta"), "ends inside"),
        (b"\0\0\0\x10ftypavif\0\0\0\0", "ends inside"),
        (
            b"\0\0\0\x10ftypavif\0\0\0\0" + struct.pack(">I4sI", 28, b"meta", 0)
            + struct.pack(">I4sI4s", 16, b"iprp", 8, b"ipco"),
            "no picture size",
        ),
    ],
)  # fmt: skip
def test_a_damaged_header_is_said_to_be_one(data: bytes, why: str) -> None:
    with pytest.raises(CorruptImage, match=why):
        probe(data)


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF"])
def test_a_header_cut_anywhere_is_a_named_error_or_still_the_right_size(format: str) -> None:
    whole = encoded(asymmetric(41, 23), format)
    for length in range(min(len(whole), 400)):
        try:
            header = probe(whole[:length])
        except (CorruptImage, UnsupportedFormat):
            continue
        assert (header.width, header.height) == (41, 23)
