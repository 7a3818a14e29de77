"""The cel renderer and the pairs it teaches with, on pictures made here."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from layers.model.generator import Generator
from layers.model.train.dataset import HELD_OUT, Pair, patches, photos, prepare, read, split, to_tensor, whole
from layers.model.train.optimise import orthogonal
from layers.model.train.render import CEL, Picture, ink, quantise, render, tangents
from layers.model.train.start import fold, start


def flat(colour: tuple[int, int, int], height: int = 64, width: int = 64) -> Picture:
    return np.full((height, width, 3), colour, np.uint8)


def noisy(height: int = 80, width: int = 96, seed: int = 0) -> Picture:
    smooth = cv2.GaussianBlur(np.random.default_rng(seed).uniform(0, 255, (height, width, 3)), (0, 0), 3)
    return np.clip((smooth - 128) * 6 + 128, 0, 255).astype(np.uint8)


def hue(rgb: Picture) -> float:
    """Of the middle pixel's (a, b), in radians."""
    lab = cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    _, a, b = lab[lab.shape[0] // 2, lab.shape[1] // 2]
    return float(np.arctan2(b, a))


def save(folder: Path, name: str, rgb: Picture) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(folder / name), np.ascontiguousarray(rgb[..., ::-1]))


@pytest.mark.parametrize("colour", [(200, 150, 120), (20, 30, 60), (128, 128, 128), (255, 255, 255), (0, 0, 0)])
def test_a_flat_picture_stays_flat_and_gets_no_ink(colour: tuple[int, int, int]) -> None:
    light = cv2.cvtColor(flat(colour).astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[..., 0]
    assert np.ptp(render(flat(colour)).astype(int), axis=(0, 1)).max() <= 1
    assert ink(light, tangents(light, 2.5), CEL).max() == 0


def test_an_edge_between_dark_and_light_gets_a_line_darker_than_both_along_its_whole_length() -> None:
    picture = flat((210, 210, 210))
    picture[:, :32] = 120
    drawn = render(picture).astype(int)[..., 0]
    line = drawn[8:-8, 24:32].min(1)
    assert (line < drawn[8:-8, 4:12].min(1) - 20).all()
    assert np.ptp(line) <= 2


def test_ink_keeps_off_the_areas_beside_an_edge() -> None:
    picture = flat((210, 210, 210))
    picture[:, :32] = 120
    drawn = render(picture).astype(int)[..., 0]
    assert np.ptp(drawn[:, :16]) <= 1
    assert np.ptp(drawn[:, -16:]) <= 1


@pytest.mark.parametrize("grey", [40, 90, 128, 200])
def test_grey_stays_grey(grey: int) -> None:
    picture = noisy()
    picture[:] = (picture[..., :1] * (grey / 255)).astype(np.uint8)
    assert np.ptp(render(picture).astype(int), axis=2).max() <= 1


@pytest.mark.parametrize("colour", [(200, 150, 120), (90, 60, 45), (120, 170, 220), (60, 120, 50)])
def test_hue_is_kept_and_chroma_grows(colour: tuple[int, int, int]) -> None:
    drawn = render(flat(colour))
    turned = abs(hue(drawn) - hue(flat(colour)))
    assert min(turned, 2 * np.pi - turned) < 0.05
    assert np.ptp(drawn[32, 32].astype(int)) > np.ptp(np.array(colour))


def test_noise_within_an_area_is_smoothed_away() -> None:
    noise = np.random.default_rng(0).normal(0, 6, (64, 64, 1))
    picture = np.clip(flat((170, 150, 130)) + noise, 0, 255).astype(np.uint8)
    assert render(picture)[8:-8, 8:-8, 0].std() < picture[8:-8, 8:-8, 0].std() / 2


def test_quantised_luminance_is_continuous_and_never_falls() -> None:
    ramp = np.tile(np.linspace(0, 100, 1001, dtype=np.float32), (32, 1))
    steps = np.diff(quantise(ramp, CEL)[16])
    assert steps.min() >= -1e-4
    assert steps.max() < 1


@pytest.mark.parametrize(("height", "width"), [(16, 16), (33, 57), (97, 31)])
def test_odd_sizes_keep_their_shape_and_type(height: int, width: int) -> None:
    drawn = render(noisy(height, width))
    assert (drawn.shape, drawn.dtype) == ((height, width, 3), np.uint8)


def test_rendering_is_pure() -> None:
    picture = noisy()
    before = picture.copy()
    assert np.array_equal(render(picture), render(picture))
    assert np.array_equal(picture, before)


def test_patches_and_whole_photos_come_as_aligned_pairs() -> None:
    picture = noisy(120, 140)
    pair = Pair(picture, 255 - picture)
    rng = np.random.default_rng(0)
    for photo, target in (patches([pair], 64, 5, rng), whole([pair], 100, 200, rng)):
        assert photo.shape == target.shape
        assert np.allclose(photo, -target, atol=1e-6)
        assert photo.abs().max() <= 1
    assert patches([pair], 64, 5, rng)[0].shape == (5, 3, 64, 64)


def test_a_render_is_cached_once_and_read_back_with_its_photo(tmp_path: Path) -> None:
    save(tmp_path, "mine/one.png", noisy())
    pairs = prepare(tmp_path, tmp_path / "cache", workers=1)
    plain = next(p for p in pairs if np.array_equal(p.photo, noisy()))
    assert np.array_equal(plain.target, render(noisy()))
    written = {f: f.stat().st_mtime_ns for f in tmp_path.rglob("*.npy")}
    prepare(tmp_path, tmp_path / "cache", workers=1)
    assert {f: f.stat().st_mtime_ns for f in tmp_path.rglob("*.npy")} == written


def test_held_out_photos_never_teach(tmp_path: Path) -> None:
    for name in (*HELD_OUT, "mine/one.png"):
        save(tmp_path, name, noisy(32, 32))
    taught, kept = split(tmp_path)
    assert [name for name, _ in taught] == ["mine/one.png"]
    assert {name for name, _ in kept} == set(HELD_OUT)
    prepare(tmp_path, tmp_path / "cache", workers=1)
    assert all("mine-one" in file.name for file in tmp_path.rglob("*.npy"))


def test_photos_that_are_not_free_are_left_out(tmp_path: Path) -> None:
    for name in ("faces-unsplash/a.jpg", "clic2025-unsplash/b.png", "sharealike-food/c.jpg", "free/d.jpg"):
        save(tmp_path, name, noisy(32, 32))
    assert [name for name, _ in photos(tmp_path)] == ["free/d.jpg"]


def test_a_large_photo_is_reduced_and_a_small_one_is_not_enlarged(tmp_path: Path) -> None:
    save(tmp_path, "a.png", noisy(60, 90))
    assert read(tmp_path / "a.png", 45).shape == (30, 45, 3)
    assert read(tmp_path / "a.png", 640).shape == (60, 90, 3)


def test_a_file_that_is_no_picture_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("not a picture")
    with pytest.raises(OSError, match=r"a\.jpg"):
        read(tmp_path / "a.jpg", 640)


def test_black_and_white_are_the_ends_of_the_tensor_range() -> None:
    assert to_tensor(flat((0, 255, 0))).unique().tolist() == [-1, 1]


def test_a_fresh_start_sees_contrast_and_folds_into_a_plain_generator_that_paints_the_same() -> None:
    photo = torch.cat([to_tensor(noisy(32, 32, seed)) for seed in range(4)])
    fresh = start(0, photo, -photo).eval()
    plain = Generator().eval()
    plain.load_state_dict(fold(fresh.state_dict()))
    with torch.inference_mode():
        painted = plain(photo)
        assert torch.allclose(fresh(photo), painted, atol=1e-3)
        assert (plain(photo / 2) - painted).abs().max() > 0.05


def test_a_step_along_a_gradient_is_the_same_in_every_direction() -> None:
    torch.manual_seed(0)
    steep = torch.diag(torch.tensor([100.0, 10.0, 1.0, 0.1])) @ torch.randn(4, 9)
    sizes = torch.linalg.svdvals(orthogonal(steep))
    assert 0.5 < sizes.min() <= sizes.max() < 1.5
