"""The whole pipeline with a generator that changes nothing, so that every pixel can be checked by hand."""

from __future__ import annotations

from io import BytesIO
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image, ImageCms
from torch import Tensor

from handler import image
from handler.convert import SMALLER, Conversion, ConversionRequest, convert
from handler.errors import CorruptImage, InvalidParameter, PayloadTooLarge
from handler.generator import FrozenGenerator
from handler.stages import STAGES, Stages
from tests.pictures import asymmetric, by_pillow, difference, encoded, noise, with_orientation


class Identity:
    """A generator that gives back what it is given and remembers its shape."""

    precision = "float32"
    shape: tuple[int, ...] = ()

    def __call__(self, x: Tensor) -> Tensor:
        self.shape = tuple(x.shape)
        return x


def converted(
    data: bytes,
    generator: Identity | None = None,
    max_side: int = 1024,
    stages: Stages | None = None,
    **wanted: Any,
) -> Conversion:
    header = image.check(data, 20 * 2**20, 50_000_000)
    request = ConversionRequest(data=data, style="none", **wanted)
    as_generator = cast(FrozenGenerator, generator or Identity())
    return convert(request, header, as_generator, max_side, stages or Stages())


def seen(conversion: Conversion) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The answer's picture as Pillow reads it, as RGB."""
    picture = Image.open(BytesIO(conversion.data))
    assert picture.size == (conversion.width, conversion.height)
    assert picture.format == conversion.format.upper()
    return np.asarray(picture.convert("RGB"))


def test_a_generator_that_changes_nothing_gives_back_the_photo() -> None:
    conversion = converted(encoded(asymmetric(), "PNG"))
    assert np.array_equal(seen(conversion), asymmetric())
    assert conversion.warnings == ()
    assert conversion.style == "none"


def test_the_generator_gets_multiples_of_32_and_its_output_is_cropped_to_the_exact_size() -> None:
    generator = Identity()
    conversion = converted(encoded(noise(100, 33), "PNG"), generator)
    assert generator.shape == (1, 3, 64, 128)
    assert (conversion.width, conversion.height) == (100, 33)


def test_the_stages_are_recorded_in_order_and_once_each() -> None:
    stages = Stages()
    conversion = converted(encoded(asymmetric(), "PNG"), stages=stages)
    assert tuple(stages.used) == STAGES
    assert tuple(conversion.timings) == (*STAGES, "total")
    assert sum(conversion.timings[name] for name in STAGES) <= conversion.timings["total"] + 0.1


def test_a_failed_stage_is_recorded_and_none_after_it() -> None:
    stages, data = Stages(), encoded(asymmetric(), "PNG")
    with pytest.raises(CorruptImage):
        converted(data[: len(data) // 2], stages=stages)
    assert tuple(stages.used) == ("decode",)


@pytest.mark.parametrize(
    ("stored", "answered"),
    [
        ("PNG", "png"),
        ("JPEG", "jpeg"),
        ("WEBP", "webp"),
        ("GIF", "png"),
        ("BMP", "png"),
        ("TIFF", "png"),
        ("AVIF", "png"),
    ],
)
def test_the_answer_has_the_photo_s_own_format_where_it_can(stored: str, answered: str) -> None:
    assert converted(encoded(asymmetric(), stored)).format == answered


@pytest.mark.parametrize("format", ["png", "jpeg", "webp"])
def test_a_format_that_is_asked_for_is_the_answer_s(format: image.OutputFormat) -> None:
    conversion = converted(encoded(asymmetric(), "PNG"), format=format, quality=100)
    assert conversion.format == format
    assert difference(seen(conversion), asymmetric()) <= 12


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_large_turned_photo_is_answered_upright_in_its_exact_size(orientation: int) -> None:
    # At half its scale it is 501×501, which no longer says which side was the longer one.
    data = with_orientation("JPEG", orientation, asymmetric(1001, 1002))
    conversion = converted(data, size=501, format="png")
    size = (500, 501) if orientation < 5 else (501, 500)
    assert (conversion.width, conversion.height) == size
    expected = Image.fromarray(by_pillow(data)).resize(size, Image.Resampling.BOX)
    assert difference(seen(conversion), np.asarray(expected)) <= 4


def test_a_photo_is_decoded_no_larger_than_the_limit_asks_for() -> None:
    data = encoded(asymmetric(1600, 1200), "JPEG")
    conversion = converted(data, max_side=200, format="png")
    assert (conversion.width, conversion.height) == (200, 150)


def test_upscaling_is_done_only_when_asked_for() -> None:
    data = encoded(asymmetric(60, 40), "PNG")
    kept, enlarged = converted(data, size=120), converted(data, size=120, upscale=True)
    assert (kept.width, kept.height) == (60, 40)
    assert "without upscale" in kept.warnings[0]
    assert (enlarged.width, enlarged.height, enlarged.warnings) == (120, 80, ())


def test_a_size_over_the_limit_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        converted(encoded(asymmetric(), "PNG"), size=2000)


def test_side_by_side_is_twice_as_wide_and_its_left_half_is_the_photo() -> None:
    conversion = converted(encoded(asymmetric(), "PNG"), side_by_side=True)
    assert (conversion.width, conversion.height) == (192, 64)
    assert np.array_equal(seen(conversion), np.hstack([asymmetric()] * 2))


def transparent() -> bytes:
    picture = Image.fromarray(asymmetric())
    picture.putalpha(Image.fromarray(np.repeat(np.linspace(0, 255, 96, dtype=np.uint8)[None], 64, 0)))
    return encoded(picture, "PNG")


def test_transparency_comes_back_in_a_png_and_is_white_in_a_jpeg() -> None:
    kept = Image.open(BytesIO(converted(transparent()).data))
    assert np.array_equal(np.asarray(kept)[:, :, 3], np.asarray(Image.open(BytesIO(transparent())))[:, :, 3])
    assert difference(by_pillow(converted(transparent()).data), by_pillow(transparent())) <= 2
    flat = converted(transparent(), format="jpeg", quality=100)
    assert difference(seen(flat), by_pillow(transparent())) <= 12


def test_side_by_side_has_no_transparency() -> None:
    assert Image.open(BytesIO(converted(transparent(), side_by_side=True).data)).mode == "RGB"


def test_warnings_of_decoding_and_of_the_size_are_both_told() -> None:
    frames = [Image.fromarray(asymmetric()), Image.fromarray(asymmetric()[::-1])]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    first, second = converted(data, size=500).warnings
    assert "animated" in first
    assert "upscale" in second


def test_what_is_too_large_for_an_answer_is_sent_smaller_and_says_so() -> None:
    data = encoded(noise(256, 256), "PNG")
    conversion = converted(data, max_output_bytes=120_000)
    assert conversion.format == "webp"
    assert len(conversion.data) <= 120_000
    size = len(converted(data).data)
    assert conversion.warnings == (f"As png it had {size:,} bytes, over the limit: sent as webp.",)


def test_each_step_of_smaller_is_smaller_than_the_one_before_on_a_photo_like_picture() -> None:
    smooth = Image.fromarray(noise(64, 64)).resize((512, 512), Image.Resampling.BICUBIC)
    sizes = [len(image.encode(np.asarray(smooth), None, format, quality)) for format, quality in SMALLER]
    assert sizes[0] > sizes[1] > sizes[3] > 0
    assert sizes[2] > sizes[4]


def test_the_quality_that_was_asked_for_is_never_exceeded_by_a_smaller_step() -> None:
    data = encoded(noise(200, 200), "PNG")
    assert len(converted(data, quality=5, max_output_bytes=100_000).data) == len(
        image.encode(noise(200, 200), None, "webp", 5)
    )


def test_what_is_too_large_in_every_format_is_refused_with_what_to_do() -> None:
    with pytest.raises(PayloadTooLarge, match=r"over 2,000 bytes in every format; ask for a smaller size"):
        converted(encoded(noise(256, 256), "PNG"), max_output_bytes=2000)


SECRETS = (b"SECRET-CAMERA", b"SECRET-PLACE", b"SECRET-XMP")
MARKERS = (b"Exif", b"eXIf", b"EXIF", b"xmpmeta", b"adobe", b"XMP ", b"ICC_PROFILE", b"iCCP", b"ICCP", b"tEXt")


def photo_with_secrets(format: str) -> bytes:
    """A photo with camera, place, XMP and a colour profile in its metadata."""
    exif = Image.Exif()
    exif[0x010F] = "SECRET-CAMERA"
    place = exif.get_ifd(0x8825)
    place.update({1: "N", 2: (52.0, 31.0, 12.0), 3: "E", 4: (13.0, 24.0, 36.0), 27: b"SECRET-PLACE"})
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/">SECRET-XMP</x:xmpmeta>'
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return encoded(asymmetric(), format, exif=exif, xmp=xmp, icc_profile=srgb)


@pytest.mark.parametrize("stored", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
@pytest.mark.parametrize("answered", ["png", "jpeg", "webp"])
def test_no_metadata_leaves(stored: str, answered: image.OutputFormat) -> None:
    data = photo_with_secrets(stored)
    assert SECRETS[0] in data
    answer = converted(data, format=answered).data
    assert [secret for secret in (*SECRETS, *MARKERS) if secret in answer] == []
    picture = Image.open(BytesIO(answer))
    assert dict(picture.getexif()) == {}
    assert not {"exif", "xmp", "icc_profile"} & picture.info.keys()
