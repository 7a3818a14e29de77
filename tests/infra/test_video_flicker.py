"""The measure of flicker against motion that is known, and that steadying lowers it without smearing."""

from __future__ import annotations

from itertools import pairwise

import cv2
import numpy as np
import pytest

from infra.video.flicker import Flicker, Series, as_text
from infra.video.motion import Follower, Motion
from infra.video.painting import Painting
from tests.clips import STEP, Pixels, pan

SIZE = (160, 120)


def flickering(strength: float) -> Painting:
    """A brush that makes every other frame lighter."""
    places = iter(range(1000))

    def brush(frame: Pixels) -> Pixels:
        lighter = frame.astype(np.float32) + strength * (next(places) % 2)
        return np.rint(lighter).clip(0, 255).astype(np.uint8)

    return Painting(brush)


def known(step: tuple[float, float]) -> Motion:
    x, y = np.meshgrid(np.arange(SIZE[0], dtype=np.float32), np.arange(SIZE[1], dtype=np.float32))
    origin = np.dstack((x + np.float32(step[0]), y + np.float32(step[1])))
    inside = (origin[..., 0] <= SIZE[0] - 1) & (origin[..., 1] <= SIZE[1] - 1)
    return Motion(origin, inside)


def test_motion_that_is_known_is_found() -> None:
    before, now = pan(2, SIZE)
    found = Follower().between(before, now)
    wrong = np.abs(found.origin - known(STEP).origin)[found.visible]
    assert float(wrong.mean()) < 0.15
    assert float(found.visible.mean()) > 0.85
    assert not found.is_cut


def test_what_appears_is_not_trusted_and_a_new_scene_is_a_cut() -> None:
    before, now = pan(2, SIZE, step=(0, 0))
    cv2.rectangle(now, (60, 40), (100, 80), (255, 0, 0), -1)
    hidden = ~Follower().between(before, now).visible
    assert hidden[45:75, 65:95].mean() > 5 * hidden[:, :40].mean()
    noise = np.random.default_rng(1).integers(0, 256, (SIZE[1], SIZE[0], 3), np.uint8)
    assert Follower().between(before, noise).is_cut


def test_a_brush_that_does_nothing_flickers_as_the_clip_and_one_that_flickers_is_found_out() -> None:
    clip = pan(6, SIZE)
    calm, restless = flickering(0), flickering(12)
    list(calm.frames(clip))
    list(restless.frames(clip))
    still, moving = calm.flicker.report(), restless.flicker.report()
    assert still
    assert moving
    assert still["ratio"] == 1.0
    assert still["clip"] == still["painted"] == moving["clip"]
    assert moving["painted"]["brightness"] == pytest.approx(12, abs=0.5)  # type: ignore[index]
    assert moving["painted"]["change"] == pytest.approx(12, abs=1)  # type: ignore[index]
    assert moving["pairs"] == 5


def test_the_figures_are_those_of_arithmetic_by_hand() -> None:
    series = Series()
    now, before = np.full((2, 2, 3), 30, np.float32), np.full((2, 2, 3), 20, np.float32)
    now[0, 0] = 255  # hidden
    seen = np.array([[False, True], [True, True]])
    series.add(before, now, seen)
    series.add(now, now, seen)
    assert series.means() == {
        "change": 5.0,
        "warping_error": round((10 / 255) ** 2 / 2, 6),
        "brightness": pytest.approx(5.0, abs=1e-3),
    }


def test_with_optical_flow_the_error_is_that_with_the_known_motion() -> None:
    clip = pan(5, SIZE, noise=3)
    painting = flickering(6)
    painted = [frame.astype(np.float32) for frame in painting.frames(clip)]
    truth = Series()
    for before, now in pairwise(painted):
        truth.add(known(STEP).warp(before), now, known(STEP).visible)
    report = painting.flicker.report()
    assert report
    assert report["painted"]["change"] == pytest.approx(truth.means()["change"], rel=0.1)  # type: ignore[index]


def test_steadying_halves_the_flicker_by_a_measure_of_its_own_and_keeps_edges() -> None:
    clip = pan(8, SIZE, noise=2)
    restless, steady = flickering(6), flickering(6)
    steady.steady = True
    rough, smooth = list(restless.frames(clip)), list(steady.frames(clip))

    def change(frames: list[Pixels]) -> float:
        series = Series()
        levels = [frame.astype(np.float32) for frame in frames]
        for before, now in pairwise(levels):
            series.add(known(STEP).warp(before), now, known(STEP).visible)
        return series.means()["change"]

    def sharpness(frame: Pixels) -> float:
        return float(cv2.Laplacian(cv2.GaussianBlur(frame, (3, 3), 0), cv2.CV_32F).std())

    assert change(smooth) < change(rough) / 2
    assert sharpness(smooth[-1]) > 0.75 * sharpness(rough[-1])
    report = steady.flicker.report()
    assert report
    assert report["steadied"]["change"] < report["painted"]["change"] / 2  # type: ignore[index]


def test_a_cut_is_not_blended_over_and_not_counted_as_flicker() -> None:
    scene = pan(2, SIZE)
    other = np.random.default_rng(1).integers(0, 256, (SIZE[1], SIZE[0], 3), np.uint8)
    painting = Painting(lambda frame: frame, steady=True)
    frames = list(painting.frames([*scene, other]))
    assert np.array_equal(frames[2], other)
    report = painting.flicker.report()
    assert report
    assert (report["cuts"], report["pairs"]) == (1, 1)


def test_a_single_frame_has_no_flicker_to_report() -> None:
    painting = Painting(lambda frame: frame)
    list(painting.frames(pan(1, SIZE)))
    assert painting.flicker.report() is None
    assert as_text(None) == "flicker: not measured, as no two frames differ"
    assert Flicker().report() is None


def test_what_moves_leaves_no_ghost_behind() -> None:
    clip = pan(1, SIZE, step=(0, 0)) * 6
    for place, frame in enumerate(clip := [frame.copy() for frame in clip]):
        cv2.circle(frame, (20 + 12 * place, 60), 10, (250, 220, 40), -1)
    calm = list(Painting(lambda frame: frame, steady=True).frames(clip))
    wrong = np.abs(calm[-1].astype(int) - clip[-1]).max(axis=2)
    assert float((wrong > 25).mean()) < 0.005  # a disc is 1.6 % of the frame, its five former places 8 %
