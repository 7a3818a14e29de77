"""Faces laid back into a picture: nothing but the face may change, and no border may show."""

from __future__ import annotations

import math

import numpy as np
import pytest

from handler.alpha import Pixels
from handler.face_blend import INNER, OUTER, blend, feather, matched
from handler.face_frames import Frame, cut
from tests.pictures import asymmetric, difference, noise

TILTED = (math.cos(0.3), math.sin(0.3))
FRAMES = [
    Frame((100, 80), 64, (1, 0)),
    Frame((103.3, 81.7), 90.4, TILTED),
    Frame((5, 150), 80, TILTED),  # at the edge
    Frame((100, 80), 400, TILTED),  # larger than the picture
    Frame((-90, 80), 60, (1, 0)),  # outside of it
]


def radius(side: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Of each pixel's centre from the square's, as a share of half the side."""
    along = (np.arange(side) + 0.5) / side * 2 - 1
    return np.hypot(*np.meshgrid(along, along))


def test_the_mask_is_one_inside_and_nothing_outside_and_half_in_the_middle_between() -> None:
    mask, at = feather(400), radius(400)
    assert (mask[at < INNER] == 1).all()
    assert (mask[at > OUTER] == 0).all()
    assert (mask[0] == 0).all()
    half = mask[np.abs(at - (INNER + OUTER) / 2) < 0.002]
    assert half == pytest.approx(0.5, abs=0.01)
    quarter = mask[np.abs(at - (OUTER - (OUTER - INNER) / 4)) < 0.002]
    assert quarter == pytest.approx(3 / 16 - 2 / 64, abs=0.01)
    assert np.array_equal(mask, mask.T)
    assert np.allclose(mask, mask[::-1], atol=1e-6)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("side", [32, 64, 96, 256])
def test_a_face_that_was_painted_as_it_was_leaves_the_picture_as_it_was(frame: Frame, side: int) -> None:
    picture = asymmetric(200, 160)
    assert difference(blend(picture, [(frame, cut(picture, frame, side))]), picture) <= 2


def test_on_whole_pixels_that_holds_for_noise_too() -> None:
    picture, frame = noise(200, 160), FRAMES[0]
    assert difference(blend(picture, [(frame, cut(picture, frame, 64))]), picture) <= 1


def test_outside_of_the_circle_not_a_pixel_changes_and_inside_is_the_face() -> None:
    picture, frame = asymmetric(200, 160), FRAMES[0]
    drawn = cut(picture, frame, 64)
    drawn[24:40, 24:40] = noise(16, 16)  # eyes, say: the tone of what surrounds them is left alone
    result = blend(picture, [(frame, drawn)])
    rows, columns = np.mgrid[0:160, 0:200]
    away = np.hypot(columns + 0.5 - 100, rows + 0.5 - 80) > 32
    assert np.array_equal(result[away], picture[away])
    assert difference(result[72:88, 92:108], picture[72:88, 92:108]) > 60


def shifted(picture: Pixels, by: int, gain: float = 1.0) -> Pixels:
    return np.clip(picture.astype(float) * gain + by, 0, 255).astype(np.uint8)


def test_a_face_that_came_out_lighter_gets_the_tone_of_the_rest() -> None:
    grey = np.broadcast_to(np.linspace(60, 160, 200).astype(np.uint8)[None, :, None], (160, 200, 3)).copy()
    frame = FRAMES[0]
    for by, gain in ((25, 1.0), (-25, 1.0), (0, 1.2), (20, 0.8)):
        result = blend(grey, [(frame, shifted(cut(grey, frame, 64), by, gain))])
        assert difference(result, grey) <= 4, (by, gain)


def test_tones_are_not_stretched_without_bounds() -> None:
    flat = np.full((32, 32, 3), 128, np.uint8)
    face = flat + (noise(32, 32) % 20)
    ring = feather(32) < 1
    spread = matched(face, noise(32, 32), ring)[..., 1].std() / face[..., 1].std()
    assert 1.2 < spread < 1.8


def test_a_face_painted_smaller_than_its_place_gets_the_picture_s_finer_detail() -> None:
    picture, frame = noise(200, 160), Frame((100, 80), 128, (1, 0))
    small = cut(picture, frame, 32)
    inside = np.s_[60:100, 80:120]  # within the mask's full part
    off = np.abs(blend(picture, [(frame, small)])[inside].astype(int) - picture[inside]).mean()
    blurred = np.abs(small.repeat(4, 0).repeat(4, 1)[44:84, 44:84].astype(int) - picture[inside]).mean()
    assert off < 0.1 * blurred


def test_overlapping_faces_are_mixed_the_same_in_any_order() -> None:
    picture = asymmetric(200, 160)
    one = (Frame((80, 80), 80, (1, 0)), noise(64, 64, seed=1))
    other = (Frame((110, 80), 80, TILTED), noise(64, 64, seed=2))
    mixed = blend(picture, [one, other])
    assert difference(mixed, blend(picture, [other, one])) <= 1
    alone = blend(picture, [one])
    assert difference(mixed[70:90, 55:65], alone[70:90, 55:65]) <= 2  # where the other's circle does not reach


def test_no_jump_shows_where_a_face_of_another_tone_ends() -> None:
    picture, frame = np.full((160, 200, 3), 90, np.uint8), Frame((100, 80), 120, TILTED)
    face = np.full((96, 96, 3), 90, np.uint8)
    face[32:64, 32:64] = 200
    result = blend(picture, [(frame, face)]).astype(int)
    assert np.abs(np.diff(result[80], axis=0)[:30]).max() <= 3
    assert np.abs(np.diff(result[:, 100], axis=0)[:20]).max() <= 3
