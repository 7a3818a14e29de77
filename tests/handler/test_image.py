"""From photo to tensor and back to bytes, with the numbers worked out by hand."""

from __future__ import annotations

import resource
import struct
from io import BytesIO
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from handler import alpha, image
from handler.errors import EmptyImage, InvalidParameter, PayloadTooLarge, TooManyPixels, UnsupportedFormat
from handler.image import Photo
from handler.raw import to_8_bit
from tests.pictures import asymmetric, decoded, difference, encoded, noise, png_header

MILLION = 1_000_000


def photo_of(pixels: np.ndarray[Any, np.dtype[np.uint8]], transparency: Any = None) -> Photo:
    return Photo(pixels, (pixels.shape[1], pixels.shape[0]), transparency)


def test_nothing_is_an_empty_image() -> None:
    with pytest.raises(EmptyImage):
        image.check(b"", 10, 10)


def test_the_byte_limit_itself_is_allowed_and_one_more_is_not() -> None:
    data = encoded(asymmetric(), "PNG")
    assert image.check(data, len(data), MILLION).width == 96
    with pytest.raises(PayloadTooLarge, match=f"{len(data):,} bytes; at most {len(data) - 1:,}"):
        image.check(data, len(data) - 1, MILLION)


def test_the_pixel_limit_itself_is_allowed_and_one_more_is_not() -> None:
    data = encoded(asymmetric(96, 64), "PNG")
    assert image.check(data, MILLION, 96 * 64).pixels == 6144
    with pytest.raises(TooManyPixels, match=r"96×64, 6,144 pixels; at most 6,143"):
        image.check(data, MILLION, 96 * 64 - 1)


@pytest.mark.parametrize(
    "header",
    [
        png_header(100_000, 100_000),
        png_header(2**31 - 1, 2**31 - 1),
        b"GIF89a" + struct.pack("<HH", 65535, 65535) + bytes(3),
        b"BM" + bytes(12) + struct.pack("<Iii", 40, 30_000, -30_000),
        b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff",
        b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\x03" + bytes(9),
    ],
    ids=["png", "largest png", "gif", "bmp", "webp", "jpeg"],
)
def test_a_decompression_bomb_is_refused_by_its_header_without_memory_for_it(header: bytes) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TooManyPixels, match="Scale it down first"):
        image.check(header, MILLION, 50 * MILLION)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000, "kilobytes"


def test_samples_that_are_neither_8_nor_16_bits_are_named() -> None:
    with pytest.raises(UnsupportedFormat, match="float32"):
        to_8_bit(np.zeros((2, 2), np.float32))


@pytest.mark.parametrize(
    ("size", "wanted", "max_side", "upscale", "result"),
    [
        ((4000, 3000), None, 1024, False, (1024, 768)),
        ((3000, 4000), None, 1024, False, (768, 1024)),
        ((640, 480), None, 1024, False, (640, 480)),
        ((640, 480), 320, 1024, False, (320, 240)),
        ((640, 480), 640, 1024, False, (640, 480)),
        ((640, 480), 1000, 1024, True, (1000, 750)),
        ((1000, 667), 500, 1024, False, (500, 334)),  # 333.5, rounded to even
        ((65535, 1), None, 1024, False, (1024, 1)),
        ((1, 65535), None, 1024, False, (1, 1024)),
        ((1, 1), None, 1024, False, (1, 1)),
        ((1, 1), 64, 1024, True, (64, 64)),
    ],
)
def test_the_result_s_size_by_hand(
    size: tuple[int, int], wanted: int | None, max_side: int, upscale: bool, result: tuple[int, int]
) -> None:
    assert image.target_size(size, wanted, max_side, upscale) == (result, None)


def test_a_size_above_the_photo_s_own_keeps_its_own_and_says_so() -> None:
    size, warning = image.target_size((640, 480), 1000, 1024, upscale=False)
    assert size == (640, 480)
    assert warning == "size=1000 is above the photo's own 640 pixels, which it keeps without upscale."


def test_a_size_above_the_limit_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"size=1025 .* 1024 pixels \(MAX_SIDE\)"):
        image.target_size((4000, 3000), 1025, 1024, upscale=True)


@given(width=st.integers(1, 70_000), height=st.integers(1, 70_000), wanted=st.integers(1, 1024))
def test_the_long_side_is_the_one_wanted_and_the_aspect_stays(width: int, height: int, wanted: int) -> None:
    (w, h), _ = image.target_size((width, height), wanted, 1024, upscale=True)
    assert max(w, h) == wanted
    assert min(w, h) >= 1
    # Off by half a pixel at most, in whole numbers: a half is met exactly.
    assert 2 * abs(w * max(width, height) - width * wanted) <= max(width, height) or w == 1
    assert 2 * abs(h * max(width, height) - height * wanted) <= max(width, height) or h == 1


@pytest.mark.parametrize("size", [(50, 37), (48, 35), (99, 73), (1, 1), (7, 74)])
def test_shrinking_is_what_pillow_makes_by_its_bicubic_filter(size: tuple[int, int]) -> None:
    rgb, opacity = noise(100, 74), noise(100, 74, 1)[:, :, 0]
    shrunk = image.resize(photo_of(rgb, opacity), size)
    bicubic = Image.Resampling.BICUBIC
    assert shrunk.alpha is not None
    assert difference(shrunk.rgb, np.asarray(Image.fromarray(rgb).resize(size, bicubic))) <= 1
    assert difference(shrunk.alpha, np.asarray(Image.fromarray(opacity).resize(size, bicubic))) <= 1


def test_the_same_size_is_the_same_picture() -> None:
    photo = photo_of(noise(9, 7), noise(9, 7, 1)[:, :, 0])
    assert image.resize(photo, (9, 7)) == photo


def test_alpha_is_resized_along() -> None:
    resized = image.resize(photo_of(noise(8, 8), np.full((8, 8), 77, np.uint8)), (20, 20))
    assert resized.alpha is not None
    assert resized.alpha.shape == (20, 20)
    assert resized.size == (20, 20)
    assert set(resized.alpha.ravel()) == {77}


@pytest.mark.parametrize("size", [(1, 1), (1, 65535), (65535, 1), (1, 40), (40, 1), (2, 65000)])
def test_photos_a_pixel_wide_go_all_the_way(size: tuple[int, int]) -> None:
    photo = decoded(encoded(np.full((size[1], size[0], 3), (10, 120, 250), np.uint8), "PNG"))
    target, _ = image.target_size(photo.full, None, 1024, upscale=False)
    small = image.resize(photo, target)
    tensor = image.to_tensor(small.rgb)
    assert tensor.shape[2] % 32 == tensor.shape[3] % 32 == 0
    pixels = image.to_pixels(tensor, target)
    assert pixels.shape[:2] == (target[1], target[0])
    assert np.array_equal(np.unique(pixels.reshape(-1, 3), axis=0), [[10, 120, 250]])


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1)])
def test_a_pixel_is_enlarged_to_an_area_of_its_colour(size: tuple[int, int]) -> None:
    enlarged = image.resize(photo_of(np.full((size[1], size[0], 3), 200, np.uint8)), (size[0] * 64, size[1] * 64))
    assert set(enlarged.rgb.ravel()) == {200}


def test_all_256_values_survive_the_way_to_the_tensor_and_back() -> None:
    values = np.arange(256, dtype=np.uint8).reshape(16, 16)
    pixels = np.dstack([values, values[::-1], values.T])
    tensor = image.to_tensor(pixels)
    assert tensor.dtype == torch.float32
    assert np.array_equal(image.to_pixels(tensor, (16, 16)), pixels)


def test_black_is_minus_one_and_white_is_one_and_the_tensor_is_channels_last() -> None:
    pixels = np.zeros((32, 64, 3), np.uint8)
    pixels[:, :, 0] = 255
    tensor = image.to_tensor(pixels)
    assert tensor.shape == (1, 3, 32, 64)
    assert tensor[0, :, 5, 5].tolist() == [1.0, -1.0, -1.0]
    assert tensor.is_contiguous(memory_format=torch.channels_last)


def test_padding_is_the_reflection_without_the_edge_itself() -> None:
    pixels = noise(50, 40)
    padded = image.to_pixels(image.to_tensor(pixels), (64, 64))
    assert padded.shape == (64, 64, 3)
    assert np.array_equal(padded, np.pad(pixels, ((0, 24), (0, 14), (0, 0)), mode="reflect"))


@given(width=st.integers(1, 70), height=st.integers(1, 70))
@settings(max_examples=40, deadline=None)
def test_what_is_padded_is_cropped_to_exactly_the_same_picture(width: int, height: int) -> None:
    pixels = noise(width, height)
    tensor = image.to_tensor(pixels)
    assert tensor.shape[2:] == (-(-height // 32) * 32, -(-width // 32) * 32)
    assert np.array_equal(image.to_pixels(tensor, (width, height)), pixels)


def test_values_outside_the_range_are_clamped_not_wrapped() -> None:
    tensor = torch.tensor([-1.5, 1.5, 0.0]).reshape(1, 3, 1, 1)
    assert image.to_pixels(tensor, (1, 1)).tolist() == [[[0, 255, 128]]]  # 127.5 is rounded to even


def test_white_shows_through_in_proportion_to_transparency() -> None:
    rgb = np.array([[[0, 0, 0], [0, 0, 0], [0, 0, 0], [100, 200, 50]]], np.uint8)
    assert alpha.on_white(rgb, np.array([[0, 51, 255, 102]], np.uint8))[0].tolist() == [
        [255, 255, 255],
        [204, 204, 204],
        [0, 0, 0],
        [193, 233, 173],
    ]


@given(st.integers(0, 255), st.integers(1, 255))
@settings(max_examples=300, deadline=None)
def test_off_white_undoes_on_white_as_exactly_as_8_bits_can(colour: int, a: int) -> None:
    rgb, opacity = np.full((1, 1, 3), colour, np.uint8), np.full((1, 1), a, np.uint8)
    seen = alpha.on_white(rgb, opacity)
    assert difference(alpha.on_white(alpha.off_white(seen, opacity), opacity), seen) <= 1
    assert difference(alpha.off_white(seen, opacity), rgb) <= 0.5 * 255 / a + 1


def test_what_is_wholly_transparent_is_white_underneath() -> None:
    white = np.full((1, 1, 3), 255, np.uint8)
    assert np.array_equal(alpha.off_white(white, np.zeros((1, 1), np.uint8)), white)


@pytest.mark.parametrize(("format", "levels"), [("png", 0), ("jpeg", 6), ("webp", 12)])
def test_pillow_reads_back_what_is_encoded(format: image.OutputFormat, levels: int) -> None:
    data = image.encode(asymmetric(), None, format, 95)
    picture = Image.open(BytesIO(data))
    assert picture.format == format.upper()
    assert difference(np.asarray(picture.convert("RGB")), asymmetric()) <= levels


@pytest.mark.parametrize("format", ["png", "webp"])
def test_alpha_is_kept_in_png_and_webp(format: image.OutputFormat) -> None:
    opacity = np.repeat(np.linspace(0, 255, 64, dtype=np.uint8)[:, None], 96, 1)
    seen = alpha.on_white(asymmetric(), opacity)
    picture = Image.open(BytesIO(image.encode(seen, opacity, format, 100)))
    assert picture.mode == "RGBA"
    rgba = np.asarray(picture)
    assert difference(rgba[:, :, 3], opacity) == 0
    again = alpha.on_white(np.ascontiguousarray(rgba[:, :, :3]), opacity)
    assert difference(again, seen) <= (1 if format == "png" else 12)


def test_jpeg_shows_transparency_on_white() -> None:
    opacity = np.zeros((64, 96), np.uint8)
    data = image.encode(alpha.on_white(asymmetric(), opacity), opacity, "jpeg", 95)
    assert set(np.asarray(Image.open(BytesIO(data))).ravel()) == {255}


@pytest.mark.parametrize("format", ["jpeg", "webp"])
def test_quality_changes_the_size(format: image.OutputFormat) -> None:
    pixels = cv2.GaussianBlur(noise(128, 128), (0, 0), 1)
    sizes = [len(image.encode(pixels, None, format, quality)) for quality in (10, 50, 92)]
    assert sizes == sorted(sizes)
    assert sizes[0] * 2 < sizes[2]


def test_png_knows_no_quality() -> None:
    assert image.encode(asymmetric(), None, "png", 1) == image.encode(asymmetric(), None, "png", 100)


def test_a_png_of_a_picture_is_no_larger_than_pillow_makes_it_by_five_per_cent() -> None:
    shaded = cv2.GaussianBlur(noise(256, 256).astype(np.float32), (0, 0), 4)
    pixels = np.asarray(cv2.normalize(shaded, None, 0, 255, cv2.NORM_MINMAX, cv2.CV_8U), np.uint8)
    assert len(image.encode(pixels, None, "png", 92)) < 1.05 * len(encoded(pixels, "PNG"))


def test_a_png_of_one_colour_has_few_bytes() -> None:
    assert len(image.encode(np.full((512, 512, 3), 200, np.uint8), None, "png", 92)) < 4096


def test_beside_puts_the_photo_left_and_the_picture_right() -> None:
    left, right = asymmetric(), noise(96, 64)
    both = image.beside(left, right)
    assert both.shape == (64, 192, 3)
    assert np.array_equal(both[:, :96], left)
    assert np.array_equal(both[:, 96:], right)
