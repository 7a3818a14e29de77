"""The comparison of engines, on pictures small enough for a test."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from infra.bench import engine, engines
from infra.bench.engine import Measured
from infra.bench.engine_report import Engines
from infra.bench.likeness import likeness
from infra.errors import BadRequest
from tests.factories import around
from tests.infra.conftest import Run


def test_the_errors_are_those_of_the_tensors_and_the_similarity_that_of_the_least_alike_photo() -> None:
    random = np.random.default_rng(1)
    reference = random.uniform(-1, 1, (2, 3, 16, 16)).astype(np.float32)
    other = reference.copy()
    other[1, 0, 0, 0] += 0.5
    found = likeness(other, reference)
    assert found.worst == pytest.approx(0.5)
    assert found.mean == pytest.approx(0.5 / (2 * 3 * 16 * 16))
    assert likeness(reference, reference).ssim == pytest.approx(1.0)
    assert 0.9 < found.ssim < 1.0


def test_photos_are_cut_to_their_middle_and_scaled_into_the_networks_range(tmp_path: Path) -> None:
    wide = np.zeros((64, 128, 3), np.uint8)
    wide[:, 32:96] = (0, 0, 255)  # the middle is red, in OpenCV's order
    cv2.imwrite(str(tmp_path / "wide.png"), wide)
    (photo,) = engine.photos([tmp_path / "wide.png"], 32)
    assert photo.shape == (3, 32, 32)
    assert photo[0].min() == 1.0
    assert photo[1:].max() == -1.0


def test_a_file_that_is_no_photo_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.jpg").write_text("no")
    with pytest.raises(BadRequest, match=r"x\.jpg is no photo"):
        engine.photos([tmp_path / "x.jpg"], 32)


def test_bfloat16_is_only_compared_where_the_processor_has_it() -> None:
    without = list(engine.available(bfloat16=False))
    assert without[0] == engines.REFERENCE
    assert not [name for name in without if "bfloat16" in name]
    assert "animegan bfloat16" in engine.available(bfloat16=True)


def test_the_report_says_how_many_times_faster_and_how_near_the_limit() -> None:
    measured = {
        "limit float32": Measured([0.5], [0.5], [0], [1.0], [0.0]),
        "limit bfloat16": Measured([0.25], [0.5], [0], [1.0], [0.0]),
        engines.REFERENCE: Measured([2.0, 3.0, 9.0], [2.0], [0], [1.0], [0.0]),
        "animegan float32": Measured([1.0], [2.0], [0], [1.0], [0.0]),
    }
    said = Engines({"CPU": "one"}, 512, 2, measured, [around(ours=10, pil=35)]).as_text()
    assert "animegan float32: 3.00 times faster than eager NCHW, as published (wanted 2.2)" in said
    assert "animegan float32: 2.00 times its limit (wanted at most 1.35)" in said
    assert "ONNX" not in said
    assert "3.5 to 3.5 times less than through PIL (wanted 3)" in said


@pytest.mark.slow
def test_the_command_compares_ours_with_the_published_network(animegan: Run) -> None:
    done = animegan(
        *("bench", "engine", "--size", "64", "--threads", "1", "--rounds", "1", "--times", "1"),
        *("--only", "animegan float32", "--json"),
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert set(said["measured"]) == {
        *("limit float32", "limit bfloat16", engines.REFERENCE),
        *("animegan float32", "animegan float32, torch alone"),
    }
    ours = said["measured"]["animegan float32"]
    assert ours["likeness"]["worst"] < 1e-3
    assert ours["likeness"]["ssim"] > 0.999
    assert (said["threads"], said["size"]) == (1, 64)
    assert said["machine"]["torch"]
    assert [photo["photo"] for photo in said["outside"]][:2] == ["0.3 MP JPEG", "1 MP JPEG"]
    assert all(len(photo["conversions"]) == 1 for photo in said["outside"])
