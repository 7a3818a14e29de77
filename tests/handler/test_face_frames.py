"""The squares that faces are cut out in: by hand, on small pictures."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from handler.face_frames import Face, Frame, cut, frame, moved
from tests.pictures import asymmetric, difference, noise

SIZE = (100, 100)
# Eyes 20 apart at y = 50, the mouth 30 below them.
UPRIGHT = Face(((0.4, 0.5), (0.6, 0.5), (0.5, 0.65), (0.42, 0.8), (0.58, 0.8)), 0.5, 0.9)
CLOSE = pytest.approx


def turned(face: Face, degrees: float) -> Face:
    """On a square picture, around its middle; clockwise as it is seen."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    points = [(x - 0.5, y - 0.5) for x, y in face.points]
    a, b, c, d, e = ((0.5 + cos * x - sin * y, 0.5 + sin * x + cos * y) for x, y in points)
    return replace(face, points=(a, b, c, d, e))


def test_an_upright_face_gets_3_6_times_the_way_from_eyes_to_mouth_and_the_middle_a_tenth_below_the_eyes() -> None:
    found = frame(UPRIGHT, SIZE)
    assert (found.side, found.centre, found.right) == (CLOSE(108), CLOSE((50, 53)), CLOSE((1, 0)))


def test_a_broad_face_gets_four_times_the_distance_of_its_eyes() -> None:
    points = ((0.3, 0.5), (0.7, 0.5), (0.5, 0.6), (0.4, 0.8), (0.6, 0.8))
    assert frame(replace(UPRIGHT, points=points), SIZE).side == CLOSE(160)


def test_a_profile_whose_eyes_are_one_has_an_upright_square_too() -> None:
    points = ((0.5, 0.5), (0.5, 0.5), (0.4, 0.6), (0.45, 0.8), (0.45, 0.8))
    found = frame(replace(UPRIGHT, points=points), SIZE)
    assert found.side == CLOSE(3.6 * math.hypot(5, 30))
    assert math.degrees(math.atan2(found.right[1], found.right[0])) == CLOSE(math.degrees(math.atan2(5, 30)))


def test_points_that_are_all_one_give_an_empty_square_and_no_error() -> None:
    found = frame(replace(UPRIGHT, points=((0.5, 0.5),) * 5), SIZE)
    assert found == Frame((50, 50), 0, (0, 0))


@pytest.mark.parametrize("degrees", [-170, -90, -30, 0, 15, 90, 180])
def test_a_turned_head_turns_its_square_and_changes_nothing_else(degrees: float) -> None:
    found = frame(turned(UPRIGHT, degrees), SIZE)
    assert found.side == CLOSE(108)
    assert found.right == CLOSE((math.cos(math.radians(degrees)), math.sin(math.radians(degrees))), abs=1e-9)


@pytest.mark.parametrize("degrees", [0, 40])
def test_a_face_found_in_a_square_is_where_the_square_is(degrees: float) -> None:
    """What a square around a turned face shows is the upright face; from there it goes back."""
    there = turned(UPRIGHT, degrees)
    square = frame(there, SIZE)
    # In the square, 108 pixels a side with (50, 53) in its middle, the unturned face is at:
    points = [((x * 100 - 50) / 108 + 0.5, (y * 100 - 53) / 108 + 0.5) for x, y in UPRIGHT.points]
    a, b, c, d, e = points
    back = moved(Face((a, b, c, d, e), 0.5, 0.9), square, SIZE)
    assert np.allclose(back.points, there.points)
    assert (back.height, back.score) == (CLOSE(0.54), 0.9)


def test_the_picture_s_own_size_is_what_fractions_are_of() -> None:
    wide = frame(UPRIGHT, (200, 100))
    assert (wide.side, wide.centre) == (CLOSE(160), CLOSE((100, 53)))


def test_a_square_on_whole_pixels_is_cut_out_as_it_is() -> None:
    picture = noise(100, 100)
    assert np.array_equal(cut(picture, Frame((50, 50), 64, (1, 0)), 64), picture[18:82, 18:82])


def test_a_square_whose_upper_edge_points_down_is_turned_upright() -> None:
    picture = noise(100, 100)
    expected = [[picture[18 + u, 81 - v] for u in range(64)] for v in range(64)]
    assert np.array_equal(cut(picture, Frame((50, 50), 64, (0, 1)), 64), expected)


def test_beyond_the_edge_is_the_reflection() -> None:
    picture = noise(100, 100)
    corner = cut(picture, Frame((0, 0), 64, (1, 0)), 64)
    expected = [[picture[abs(v - 32), abs(u - 32)] for u in range(64)] for v in range(64)]
    assert np.array_equal(corner, expected)


def test_a_square_larger_than_the_picture_is_filled_too() -> None:
    picture = np.full((20, 30, 3), 77, np.uint8)
    assert np.array_equal(cut(picture, Frame((15, 10), 200, (1, 0)), 64), np.full((64, 64, 3), 77))


def test_a_reduced_square_has_the_mean_of_what_each_of_its_pixels_covers() -> None:
    picture = noise(128, 128)
    small = cut(picture, Frame((64, 64), 128, (1, 0)), 32)
    assert difference(small, picture.reshape(32, 4, 32, 4, 3).mean((1, 3)).round().astype(np.uint8)) <= 1


def test_an_enlarged_square_goes_smoothly_through_the_same_places() -> None:
    ramp = asymmetric(64, 64)
    large = cut(ramp, Frame((32, 32), 32, (1, 0)), 128)
    # Pixel u of 128 has its centre at 16 + (u + ½) / 4, half a pixel less as a column; red is 255 / 63 a column.
    red = (15.5 + (np.arange(128) + 0.5) / 4) * 255 / 63
    assert np.abs(large[60, :, 0] - red).max() <= 2


@pytest.mark.parametrize(
    ("centre", "right", "area"),
    [
        ((50, 50), (1, 0), (29, 29, 71, 71)),
        ((0, 0), (1, 0), (0, 0, 21, 21)),
        ((100, 50), (0, 1), (79, 29, 100, 71)),
        ((50, 50), (math.sqrt(0.5), math.sqrt(0.5)), (20, 20, 80, 80)),
    ],
)
def test_what_a_square_can_touch_ends_where_the_picture_does(
    centre: tuple[float, float], right: tuple[float, float], area: tuple[int, int, int, int]
) -> None:
    assert Frame(centre, 40, right).covers(SIZE) == area
