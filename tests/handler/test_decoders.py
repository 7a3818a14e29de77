"""Every kind of picture against Pillow's reading of it, and damaged ones against the whole."""

from __future__ import annotations

import builtins
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage.metrics import structural_similarity

from handler import decoders, heif, image, jpeg
from handler.errors import CorruptImage, InvalidParameter, TooManyPixels, UnsupportedFormat
from handler.headers import Header
from handler.image import check
from tests.pictures import (
    asymmetric,
    bmp,
    by_pillow,
    decoded,
    difference,
    encoded,
    jpeg_with,
    noise,
    png,
    png_chunk,
)

GREY = asymmetric()[:, :, 0]


def with_alpha() -> Image.Image:
    """RGBA whose alpha runs from 0 to 255 in steps along the rows."""
    picture = Image.fromarray(asymmetric())
    picture.putalpha(Image.fromarray(np.repeat(np.linspace(0, 255, 64, dtype=np.uint8)[:, None], 96, 1)))
    return picture


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "AVIF"])
def test_grey_is_decoded_to_three_equal_channels(format: str) -> None:
    data = encoded(GREY, format)
    photo = decoded(data)
    assert difference(photo.rgb, by_pillow(data)) <= 1
    assert photo.alpha is None


@pytest.mark.parametrize(
    ("format", "mode"),
    [("PNG", mode) for mode in ("1", "L", "LA", "P", "RGB", "RGBA")]
    + [("TIFF", mode) for mode in ("1", "L", "P", "RGB", "RGBA", "CMYK")],
)
def test_every_mode_is_what_pillow_reads(format: str, mode: str) -> None:
    data = encoded((with_alpha() if mode.endswith("A") else Image.fromarray(asymmetric())).convert(mode), format)
    photo = decoded(data)
    assert difference(photo.rgb, by_pillow(data)) <= 1
    assert (photo.alpha is not None) == mode.endswith("A")


@pytest.mark.parametrize("format", ["PNG", "WEBP", "TIFF", "AVIF"])
def test_alpha_is_kept_as_stored_and_shown_on_white(format: str) -> None:
    data = encoded(with_alpha(), format)
    photo = decoded(data)
    assert photo.alpha is not None
    assert difference(photo.alpha, np.asarray(Image.open(BytesIO(data)).convert("RGBA"))[:, :, 3]) <= 1
    assert difference(photo.rgb, by_pillow(data)) <= 2


@pytest.mark.parametrize("format", ["PNG", "GIF"])
def test_a_palette_with_a_transparent_entry_has_alpha(format: str) -> None:
    picture = Image.fromarray(asymmetric()).quantize(16)
    data = encoded(picture, format, transparency=3)
    photo = decoded(data)
    assert photo.alpha is not None
    assert difference(photo.rgb, by_pillow(data)) == 0
    assert np.array_equal(photo.alpha == 0, np.asarray(picture) == 3)


@pytest.mark.parametrize("bits", [8, 16])
def test_the_transparent_value_of_a_grey_png_has_alpha(bits: int) -> None:
    step, dtype = (5000, np.uint16) if bits == 16 else (20, np.uint8)
    samples = np.arange(12, dtype=dtype).reshape(3, 4) * step
    key = int(samples[1, 2])
    photo = decoded(png(samples[:, :, None], 0, png_chunk(b"tRNS", struct.pack(">H", key))))
    assert photo.alpha is not None
    assert photo.alpha.tolist() == [[255] * 4, [255, 255, 0, 255], [255] * 4]
    assert photo.rgb[1, 2].tolist() == [255, 255, 255]


def test_the_transparent_value_of_a_four_bit_grey_png_has_alpha() -> None:
    data = encoded(Image.fromarray(np.array([[0, 17, 255]], np.uint8)), "PNG", bits=4, transparency=1)
    assert data[24] in (4, 8)
    photo = decoded(data)
    assert photo.alpha is not None


@pytest.mark.parametrize(("kind", "channels"), [(0, 1), (2, 3), (4, 2), (6, 4)], ids=["grey", "rgb", "la", "rgba"])
def test_16_bit_png_is_rounded_to_the_nearest_8_bit_level(kind: int, channels: int) -> None:
    samples = np.random.default_rng(kind).integers(0, 65536, (9, 11, channels), np.uint16)
    samples[0, 0], samples[0, 1] = 0, 65535
    photo = decoded(png(samples, kind))
    eight = np.rint(samples / 257)
    if channels in (2, 4):
        a = samples[:, :, -1:] / 65535
        eight = eight[:, :, :-1] * a + 255 * (1 - a)
        assert photo.alpha is not None
        assert difference(photo.alpha, np.rint(samples[:, :, -1] / 257).astype(np.uint8)) == 0
    off = np.abs(photo.rgb - np.broadcast_to(eight, photo.rgb.shape)).max()
    assert off <= (0.51 if channels in (1, 3) else 1.01)


def test_16_bit_tiff_is_rounded_to_the_nearest_8_bit_level() -> None:
    samples = np.arange(0, 65536, 257 * 5 // 3, dtype=np.uint16)[None]
    photo = decoded(encoded(Image.fromarray(samples), "TIFF"))
    assert np.array_equal(photo.rgb[:, :, 0], np.rint(samples / 257))


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 2}, {"restart_marker_rows": 1}])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_every_coding_of_jpeg_is_what_pillow_reads(mode: str, options: dict[str, Any]) -> None:
    data = encoded(Image.fromarray(asymmetric()).convert(mode), "JPEG", **options)
    assert difference(decoded(data).rgb, by_pillow(data)) <= 2


def test_a_ycck_jpeg_has_the_colours_that_pillow_reads(shared: Callable[[str], Path]) -> None:
    data = shared("data/awkward/jpeg-colour/sharp_Channel_digital_image_CMYK_color.jpg").read_bytes()
    photo = decoded(data)
    assert difference(photo.rgb, by_pillow(data)) <= 2


@pytest.mark.parametrize("scale", [2, 4, 8])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_a_reduced_jpeg_keeps_the_colours_of_the_whole(mode: str, scale: int) -> None:
    smooth = cv2.GaussianBlur(noise(640, 320), (0, 0), 6)
    data = encoded(Image.fromarray(cv2.convertScaleAbs(smooth, alpha=4, beta=-384)).convert(mode), "JPEG")
    whole = cv2.resize(decoded(data).rgb, (640 // scale, 320 // scale), interpolation=cv2.INTER_AREA)
    reduced = decoded(data, wanted_side=640 // scale // 2).rgb
    assert reduced.shape == whole.shape
    assert cv2.PSNR(reduced, whole) > 38


@pytest.mark.parametrize(
    ("longest", "wanted", "scale"),
    [
        *((15_360, 1024, 8), (15_359, 1024, 4), (8192, 512, 8), (6000, 512, 4), (4032, 512, 4), (4032, 1024, 2)),
        *((3840, 1024, 2), (3839, 1024, 1), (1920, 512, 2), (1919, 512, 1), (10, 1024, 1), (15, 1, 4)),
    ],
)
def test_a_jpeg_is_reduced_as_far_as_leaves_enough_pixels(longest: int, wanted: int, scale: int) -> None:
    assert jpeg.reduction(longest, wanted) == scale


@pytest.mark.parametrize("wanted", [256, 300, 320])
def test_a_picture_of_a_reduced_jpeg_is_as_sharp_as_one_of_the_whole(wanted: int) -> None:
    fine = noise(1226, 818).astype(np.float32)  # no multiple of eight, and detail that half the size still has
    pixels = cv2.normalize(cv2.GaussianBlur(fine, (0, 0), 1.5), None, 0, 255, cv2.NORM_MINMAX, cv2.CV_8U)
    data = encoded(np.asarray(pixels, np.uint8), "JPEG", quality=90, subsampling=2)
    size = (wanted, round(818 * wanted / 1226))
    reduced = decoded(data, wanted)
    assert reduced.size == (613, 409)
    small, whole = (image.resize(photo, size).rgb for photo in (reduced, decoded(data)))
    assert structural_similarity(small, whole, channel_axis=2) > 0.99


def test_a_jpeg_whose_decoder_sees_another_size_than_was_checked_is_refused() -> None:
    data = encoded(asymmetric(96, 64), "JPEG")
    with pytest.raises(CorruptImage, match="two sizes"):
        decoders.decode(data, Header("jpeg", 48, 32), 48)


@pytest.mark.parametrize("options", [{"lossless": True}, {"lossless": False, "quality": 90}])
def test_webp_is_what_pillow_reads(options: dict[str, Any]) -> None:
    data = encoded(asymmetric(), "WEBP", **options)
    assert difference(decoded(data).rgb, by_pillow(data)) <= 1


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_tiff_of_every_compression_is_what_pillow_reads(compression: str, mode: str) -> None:
    data = encoded(Image.fromarray(asymmetric()).convert(mode), "TIFF", compression=compression)
    assert difference(decoded(data).rgb, by_pillow(data)) <= 2


def test_a_tiled_tiff_is_put_together() -> None:
    pixels = noise(64, 64)
    tiles = [pixels[y : y + 32, x : x + 32].tobytes() for y in (0, 32) for x in (0, 32)]
    shorts = {256: 64, 257: 64, 259: 1, 262: 2, 277: 3, 284: 1, 322: 32, 323: 32}
    entries = {tag: (3, 1, struct.pack("<HH", value, 0)) for tag, value in shorts.items()}
    after = 8 + 2 + 12 * 11 + 4
    entries[258] = (3, 3, struct.pack("<I", after))
    entries[324] = (4, 4, struct.pack("<I", after + 6))
    entries[325] = (4, 4, struct.pack("<I", after + 22))
    directory = b"".join(struct.pack("<HHI", tag, *entries[tag][:2]) + entries[tag][2] for tag in sorted(entries))
    at = after + 38
    arrays = struct.pack("<3H4I4I", 8, 8, 8, *(at + 3072 * i for i in range(4)), *[3072] * 4)
    data = b"II*\0" + struct.pack("<IH", 8, len(entries)) + directory + bytes(4) + arrays + b"".join(tiles)
    assert np.array_equal(decoded(data).rgb, pixels)


def test_of_a_tiff_with_pages_the_first_is_taken_and_a_warning_says_so() -> None:
    first, second = Image.fromarray(asymmetric()), Image.fromarray(asymmetric()[::-1])
    photo = decoded(encoded(first, "TIFF", save_all=True, append_images=[second]))
    assert np.array_equal(photo.rgb, asymmetric())
    assert photo.warnings == ("The file has several pages; only the first is converted.",)


@pytest.mark.parametrize("format", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_is_taken_and_a_warning_says_so(format: str) -> None:
    first = asymmetric()
    frames = [Image.fromarray(pixels) for pixels in (first, first[::-1], first // 2)]
    data = encoded(frames[0], format, save_all=True, append_images=frames[1:], duration=50)
    photo = decoded(data)
    assert difference(photo.rgb, by_pillow(data)) <= 1
    assert photo.warnings == ("The picture is animated; only its first frame is converted.",)


def test_a_default_image_outside_its_animation_is_what_is_taken() -> None:
    still, moving = Image.new("RGB", (9, 9), "red"), [Image.new("RGB", (9, 9), c) for c in ("lime", "blue")]
    data = encoded(still, "PNG", save_all=True, append_images=moving, default_image=True)
    assert decoded(data).rgb[4, 4].tolist() == [255, 0, 0]


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB"])
def test_bmp_of_every_depth_is_what_pillow_reads(mode: str) -> None:
    data = encoded(Image.fromarray(asymmetric()).convert(mode), "BMP")
    assert difference(decoded(data).rgb, by_pillow(data)) == 0


def test_a_bmp_whose_palette_has_one_colour_is_not_grey() -> None:
    data = bmp([b"\x00"], width=1, bits=8, palette=b"\x00\x00\xff\x00")
    data = data[:46] + struct.pack("<I", 1) + data[50:]
    assert decoded(data).rgb[0, 0].tolist() == [255, 0, 0]


STANDARD = (0xFF0000, 0xFF00, 0xFF)
BGRA = [b"\x01\x02\x03\x4d\x04\x05\x06\x58"]


@pytest.mark.parametrize(
    ("header", "masks", "rows", "alpha"),
    [
        (40, (), BGRA, None),
        (40, STANDARD, BGRA, None),
        (108, (*STANDARD, 0), BGRA, None),
        (108, (*STANDARD, 0xFF000000), BGRA, [77, 88]),
        (56, (*STANDARD, 0xFF000000), BGRA, [77, 88]),
        (108, (*STANDARD, 0xFF000000), [b"\x01\x02\x03\x00\x04\x05\x06\x00"], None),
    ],
    ids=["no fields", "fields without alpha", "no alpha mask", "V4 alpha", "V3 alpha", "alpha all zero"],
)
def test_the_fourth_byte_of_a_bmp_is_alpha_only_where_its_header_says_so(
    header: int, masks: tuple[int, ...], rows: list[bytes], alpha: list[int] | None
) -> None:
    photo = decoded(bmp(rows, width=2, bits=32, header=header, masks=masks))
    if alpha is None:
        assert photo.alpha is None
        assert photo.rgb.tolist() == [[[3, 2, 1], [6, 5, 4]]]
    else:
        assert photo.alpha is not None
        assert photo.alpha.tolist() == [alpha]


@pytest.mark.parametrize("masks", [(), (0x7C00, 0x3E0, 0x1F), (0xF800, 0x7E0, 0x1F)], ids=["555", "555bf", "565"])
def test_16_bits_per_pixel_reach_white_and_match_pillow(masks: tuple[int, ...]) -> None:
    rows = [np.random.default_rng(1).integers(0, 65536, 16, np.uint16).astype("<u2").tobytes(), b"\xff\x7f" * 16]
    data = bmp(rows, width=16, bits=16, masks=masks)
    photo = decoded(data)
    assert difference(photo.rgb, by_pillow(data)) <= 1
    if masks != (0xF800, 0x7E0, 0x1F):
        assert photo.rgb[0].min() == 255, "all five bits set are white"


@pytest.mark.parametrize(
    ("bits", "header", "masks"),
    [
        (16, 40, (0xF00, 0xF0, 0xF)),
        (32, 40, (0xFF, 0, 0xFF0000)),
        (32, 108, (0xFF000000, 0xFF0, 0xFF0000, 0)),
    ],
)
def test_bit_fields_that_opencv_would_mix_up_are_refused(bits: int, header: int, masks: tuple[int, ...]) -> None:
    with pytest.raises(UnsupportedFormat, match="bit fields"):
        decoded(bmp([bytes(32)], width=4, bits=bits, header=header, masks=masks))


def test_32_bit_fields_of_any_width_and_order_are_read_by_hand() -> None:
    masks = (0xFF000000, 0xFF0, 0x3F0000)  # red, green, and six bits of blue
    words = [200 << 24 | 100 << 4 | 63 << 16, 255 << 24 | 255 << 4, 0xF]
    photo = decoded(bmp([struct.pack("<3I", *words)], width=3, bits=32, masks=masks))
    assert photo.rgb.tolist() == [[[200, 100, 255], [255, 255, 0], [0, 0, 0]]]
    assert photo.alpha is None


def test_the_bit_fields_of_bmpsuite_give_the_picture_of_24_bits(shared: Callable[[str], Path]) -> None:
    fields = decoded(shared("data/awkward/bmp/pillow_bmp_g_rgb32bf.bmp").read_bytes())
    plain = decoded(shared("data/awkward/bmp/pillow_bmp_g_rgb24.bmp").read_bytes())
    assert fields.alpha is None
    assert np.array_equal(fields.rgb, plain.rgb)


def test_the_oldest_kind_of_bmp_is_decoded() -> None:
    body = b"\x00\x00\xff" + b"\x00"
    data = struct.pack("<2sIHHI", b"BM", 30, 0, 0, 26) + struct.pack("<IHHHH", 12, 1, 1, 1, 24) + body
    assert decoded(data).rgb.tolist() == [[[255, 0, 0]]]


def test_a_bmp_that_opencv_throws_at_is_damaged_not_a_defect() -> None:
    data = bmp([bytes(4)], width=2**31 - 1, bits=32)
    header = check(data, 100, 2**40)
    with pytest.raises(CorruptImage):
        decoders.decode(data, header, 100)


@pytest.mark.parametrize("quality", [60, 100])
def test_avif_is_what_pillow_reads(quality: int) -> None:
    data = encoded(asymmetric(), "AVIF", quality=quality)
    assert difference(decoded(data).rgb, by_pillow(data)) <= 1


@pytest.mark.parametrize("bits", [10, 12])
@pytest.mark.parametrize("brightest", [255, 40])
def test_a_deep_avif_has_its_own_brightness_however_dark(bits: int, brightest: int) -> None:
    # A dark 12-bit picture has no sample above 1023, so its depth can't be told from its samples.
    eight = asymmetric() // (255 // brightest)
    deep = np.rint(eight[:, :, ::-1].astype(float) * (2**bits - 1) / 255).astype(np.uint16)
    written, data = cv2.imencode(".avif", deep, [cv2.IMWRITE_AVIF_DEPTH, bits, cv2.IMWRITE_AVIF_QUALITY, 100])
    assert written
    assert difference(decoded(data.tobytes()).rgb, eight) <= 3


def test_the_depth_of_an_avif_is_what_its_codec_says() -> None:
    assert heif.bits(encoded(asymmetric(), "AVIF")) == 8


def test_boxes_of_64_bit_size_and_of_no_size_are_walked() -> None:
    wide = struct.pack(">I4sQ", 1, b"wide", 20) + b"abcd"
    last = struct.pack(">I4s", 0, b"last") + b"to the end"
    found = [(kind, (wide + last)[start:end]) for kind, start, end in heif.boxes(wide + last, 0, len(wide + last))]
    assert found == [(b"wide", b"abcd"), (b"last", b"to the end")]


def test_damage_is_told_to_the_sender_and_not_to_stderr() -> None:
    data = encoded(asymmetric(), "GIF")[:-200]
    code = (
        "import sys; from handler.raw import unpack; from handler.errors import CorruptImage\n"
        "try: unpack(sys.stdin.buffer.read())\n"
        "except CorruptImage: print('refused')"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, cwd=root, check=True)
    assert (done.stdout.strip(), done.stderr) == (b"refused", b"")


def test_heic_is_decoded_where_the_extra_is_installed() -> None:
    pillow_heif = pytest.importorskip("pillow_heif", reason="the extra `heic` is not installed")
    pillow_heif.register_heif_opener()
    data = encoded(asymmetric(), "HEIF", quality=100)
    assert difference(decoded(data).rgb, asymmetric()) < 24
    transparent = decoded(encoded(with_alpha(), "HEIF", quality=100))
    assert transparent.alpha is not None
    grey = decoded(encoded(GREY, "HEIF", quality=100))
    assert difference(grey.rgb[:, :, 0], GREY) < 8
    with pytest.raises(CorruptImage, match="HEIC is damaged"):
        decoded(data[: len(data) * 2 // 3])


def test_heic_is_named_where_the_extra_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pillow_heif = pytest.importorskip("pillow_heif", reason="the extra `heic` makes the picture of this test")
    pillow_heif.register_heif_opener()
    data, really = encoded(asymmetric(), "HEIF"), builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pillow_heif":
            raise ImportError(name)
        return really(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UnsupportedFormat, match=r"HEIC.*JPEG"):
        decoded(data)


@pytest.mark.parametrize(
    ("picture", "why"),
    [
        (Image.fromarray(asymmetric()).convert("LAB"), r"L\*a\*b"),
        (Image.fromarray(GREY.astype(np.float32)), "32 bits"),
        (Image.fromarray(GREY.astype(np.int32)), "32 bits"),
        (with_alpha().convert("LA"), "grey with transparency"),
    ],
    ids=["lab", "float", "int32", "grey with alpha"],
)
def test_a_tiff_that_would_have_wrong_colours_is_unsupported(picture: Image.Image, why: str) -> None:
    with pytest.raises(UnsupportedFormat, match=why):
        decoded(encoded(picture, "TIFF"))


def test_colours_that_a_16_bit_tiff_stores_multiplied_by_alpha_are_divided_by_it() -> None:
    values = struct.pack("<8H", 32768, 0, 16384, 32768, 1000, 2000, 3000, 65535)  # two pixels, RGBA
    shorts = {256: 2, 257: 1, 259: 1, 262: 2, 277: 4, 278: 1, 284: 1, 338: 1}
    entries = {tag: (3, 1, struct.pack("<HH", value, 0)) for tag, value in shorts.items()}
    after = 8 + 2 + 12 * 11 + 4
    entries |= {258: (3, 4, struct.pack("<I", after)), 273: (4, 1, struct.pack("<I", after + 8))}
    entries |= {279: (4, 1, struct.pack("<I", 16))}
    directory = b"".join(struct.pack("<HHI", tag, *entries[tag][:2]) + entries[tag][2] for tag in sorted(entries))
    data = b"II*\0" + struct.pack("<IH", 8, 11) + directory + bytes(4) + struct.pack("<4H", *[16] * 4) + values
    photo = decoded(data)
    assert photo.alpha is not None
    assert photo.alpha.tolist() == [[128, 255]]
    assert photo.rgb[0, 0].tolist() == [255, 127, 191], "red, none and half of it, half of each seen on white"
    assert photo.rgb[0, 1].tolist() == [4, 8, 12]


def test_a_tiff_of_more_than_four_channels_is_unsupported() -> None:
    data = encoded(asymmetric(4, 4), "TIFF")
    entry = data.index(struct.pack("<HHI", 277, 3, 1))
    with pytest.raises(UnsupportedFormat, match="5 channels"):
        decoded(data[: entry + 8] + struct.pack("<H", 5) + data[entry + 10 :])


WHOLE = {
    "JPEG": encoded(asymmetric(64, 48), "JPEG"),
    "progressive": encoded(asymmetric(64, 48), "JPEG", progressive=True),
    "PNG": encoded(asymmetric(64, 48), "PNG"),
    "WEBP": encoded(asymmetric(64, 48), "WEBP"),
    "lossy WEBP": encoded(asymmetric(64, 48), "WEBP", lossless=False),
    "GIF": encoded(asymmetric(64, 48), "GIF"),
    "BMP": encoded(asymmetric(64, 48), "BMP"),
    "TIFF": encoded(asymmetric(64, 48), "TIFF"),
    "LZW TIFF": encoded(asymmetric(64, 48), "TIFF", compression="tiff_lzw"),
    "AVIF": encoded(asymmetric(64, 48), "AVIF"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_file_cut_anywhere_is_refused_or_gives_the_whole_picture(name: str) -> None:
    whole = WHOLE[name]
    picture = decoded(whole).rgb
    size = len(whole)
    for length in [*range(1, 60), *range(60, size, max(1, size // 120)), *range(size - 12, size)]:
        try:
            part = decoded(whole[:length]).rgb
        except (CorruptImage, UnsupportedFormat):
            continue
        assert part.shape == picture.shape, f"cut at {length} of {len(whole)}"
        assert difference(part, picture) == 0, f"cut at {length} of {len(whole)}"


@given(name=st.sampled_from(sorted(WHOLE)), at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=150, deadline=None)
def test_a_flipped_bit_never_raises_anything_but_a_named_error(name: str, at: float, bit: int) -> None:
    data = bytearray(WHOLE[name])
    data[int(at * len(data))] ^= 1 << bit
    with suppress(CorruptImage, UnsupportedFormat, TooManyPixels):
        assert decoded(bytes(data)).rgb.dtype == np.uint8


@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=60, deadline=None)
def test_a_flipped_bit_in_the_data_of_a_png_is_always_found(at: float, bit: int) -> None:
    data = bytearray(WHOLE["PNG"])
    first = data.index(b"IDAT") + 4
    data[first + int(at * (len(data) - first - 16))] ^= 1 << bit
    with pytest.raises(CorruptImage):
        decoded(bytes(data))


def test_damage_that_opencv_passes_over_is_found_in_the_entropy_coded_data_of_a_jpeg() -> None:
    data = bytearray(encoded(noise(256, 256), "JPEG"))
    middle = len(data) // 2
    data[middle : middle + 400] = b"\xff\xd9" + bytes(398)
    assert cv2.imdecode(np.frombuffer(bytes(data), np.uint8), cv2.IMREAD_COLOR) is not None, "half grey, silently"
    with pytest.raises(CorruptImage, match="JPEG is damaged"):
        decoded(bytes(data))


def test_bytes_behind_the_end_of_a_jpeg_do_no_harm() -> None:
    data = encoded(asymmetric(), "JPEG")
    assert np.array_equal(decoded(data + b"trailing" * 100).rgb, decoded(data).rgb)


def test_the_index_of_a_multi_picture_jpeg_is_not_taken_for_a_colour_profile() -> None:
    data = jpeg_with(encoded(asymmetric(), "JPEG"), (0xE2, b"MPF\0II*\0" + bytes(40)))
    assert decoded(data).profile == b""


def test_a_profile_in_pieces_is_put_together_in_their_order() -> None:
    profile = bytes(range(256)) * 3
    pieces = [(0xE2, b"ICC_PROFILE\0" + bytes([n + 1, 3]) + profile[n * 256 : n * 256 + 256]) for n in (2, 0, 1)]
    assert decoded(jpeg_with(encoded(asymmetric(), "JPEG"), *pieces)).profile == profile


def test_no_good_photo_is_refused(shared: Callable[[str], Path]) -> None:
    photos = [path for path in sorted(shared("data/photos").rglob("*")) if path.suffix in (".jpg", ".webp")]
    assert photos
    for path in photos:
        assert max(decoded(path.read_bytes(), wanted_side=256).size) >= 256, path


def test_a_tiff_whose_size_stands_in_an_eight_byte_entry_is_refused_before_it_is_decoded() -> None:
    stream = BytesIO()
    Image.new("RGB", (40, 30)).save(stream, "TIFF")
    tiff = bytearray(stream.getvalue())
    directory = int.from_bytes(tiff[4:8], "little")
    width = next(
        at for at in range(directory + 2, len(tiff), 12) if int.from_bytes(tiff[at : at + 2], "little") == 256
    )
    tiff[width + 2 : width + 4] = (16).to_bytes(2, "little")  # LONG8: the value becomes an offset to libtiff
    with pytest.raises(CorruptImage):
        image.check(bytes(tiff), 10**6, 10**6)


def test_a_jpeg_that_goes_over_the_picture_again_and_again_is_refused_at_once() -> None:
    stream = BytesIO()
    Image.new("RGB", (40, 30)).save(stream, "JPEG", progressive=True)
    jpeg = stream.getvalue()[:-2] + b"\xff\xda\x00\x08\x01\x01\x00\x00\x00\x00" * 101 + b"\xff\xd9"
    with pytest.raises(CorruptImage, match="scans"):
        image.decode(jpeg, image.check(jpeg, 10**6, 10**6), 40)


def test_a_picture_too_long_for_webp_says_so() -> None:
    with pytest.raises(InvalidParameter, match="20000×1 pixels are too many for webp"):
        image.encode(np.zeros((1, 20_000, 3), np.uint8), None, "webp", 90)
