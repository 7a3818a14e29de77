"""What surrounds inference: both ways through it, and what is said of them."""

from __future__ import annotations

import base64
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from infra.bench import ladder, outside, outside_report
from infra.bench.ways import STEPS, ours, through_pil
from infra.errors import BadRequest
from tests.factories import around
from tests.pictures import asymmetric, encoded, noise


def answering(status: int = 200) -> Any:
    """A function that needs no time and says that inference took none; `events` are what it was invoked with."""

    def invoke(event: Any) -> Any:
        invoke.events.append(event)  # type: ignore[attr-defined]
        return {"statusCode": status, "body": json.dumps({"timings": {"inference": 0.0}})}

    invoke.events = []  # type: ignore[attr-defined]
    return invoke


@pytest.mark.parametrize("format", ["JPEG", "PNG"])
def test_both_ways_have_the_same_steps_and_take_time_for_each(format: str) -> None:
    data = encoded(noise(96, 64), format)
    for way in (ours, through_pil):
        spent = way(data, 64)
        assert tuple(spent) == STEPS
        assert min(spent.values()) > 0


def test_the_ways_take_turns_and_the_first_does_not_count() -> None:
    invoke = answering()
    found = outside.measure("a photo", encoded(noise(96, 64), "JPEG"), 64, 3, invoke)
    assert {len(found.ours[step]) for step in STEPS} == {len(found.pil[step]) for step in STEPS} == {3}
    assert len(invoke.events) == 4
    assert found.outside == found.conversions, "a function whose inference takes no time"


def test_what_the_function_is_invoked_with_is_the_photo_in_json() -> None:
    invoke, data = answering(), encoded(noise(96, 64), "JPEG")
    outside.measure("a photo", data, 48, 1, invoke)
    body = json.loads(invoke.events[0]["body"])
    assert base64.b64decode(body["image"]) == data
    assert body["size"] == 48


def test_a_function_that_refuses_a_photo_is_not_measured() -> None:
    with pytest.raises(BadRequest, match="a photo"):
        outside.measure("a photo", encoded(noise(96, 64), "JPEG"), 64, 1, answering(413))


def test_the_rungs_have_the_pixels_and_codings_that_they_are_named_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = ((0.01, "JPEG"), (0.04, "progressive JPEG"), (0.02, "PNG"))
    monkeypatch.setattr(ladder, "RUNGS", small)
    (tmp_path / "a.png").write_bytes(encoded(asymmetric(150, 100), "PNG"))
    (tmp_path / "b.png").write_bytes(encoded(asymmetric(9, 9), "PNG"))
    found = {name: Image.open(BytesIO(data)) for name, data in ladder.photos(sorted(tmp_path.iterdir()))}
    assert list(found) == ["0.01 MP JPEG", "0.04 MP progressive JPEG", "0.02 MP PNG"]
    assert [picture.format for picture in found.values()] == ["JPEG", "JPEG", "PNG"]
    assert [bool(picture.info.get("progressive")) for picture in found.values()] == [False, True, False]
    for (megapixels, _), picture in zip(small, found.values(), strict=True):
        assert picture.width * picture.height == pytest.approx(megapixels * 1e6, rel=0.02)
        assert picture.width / picture.height == pytest.approx(1.5, rel=0.02)


def test_a_rung_above_the_photo_has_its_pixels_and_their_mirror_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladder, "RUNGS", ((0.02, "PNG"),))
    (tmp_path / "a.png").write_bytes(encoded(asymmetric(100, 100), "PNG"))
    ((_, data),) = ladder.photos([tmp_path / "a.png"])
    pixels = np.asarray(Image.open(BytesIO(data)))
    assert pixels.shape == (141, 141, 3)
    assert np.array_equal(pixels[:100, :100], asymmetric(100, 100))
    assert np.array_equal(pixels[:100, 100:], asymmetric(100, 100)[:, :-42:-1])


def test_a_file_that_is_no_photo_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.jpg").write_text("no")
    with pytest.raises(BadRequest, match=r"x\.jpg is no photo"):
        list(ladder.photos([tmp_path / "x.jpg"]))


def test_the_table_has_a_row_for_each_photo_and_the_targets_below() -> None:
    said = outside_report.as_text([around(ours=10, pil=35), around(ours=20, pil=40, name="12 MP JPEG")], 512)
    first, second = (line for line in said.splitlines() if "MP" in line)
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    assert cells[:3] == ["1 MP JPEG", "346", "5.0 / 17.5"]
    assert cells[-8:] == ["10.0 (10.0)", "35.0 (35.0)", "3.5", "3.5", "3.5", "200 (200)", "10.0 (10.0)", "5.0"]
    assert "12 MP JPEG" in second
    assert "2.0 to 3.5 times less than through PIL (wanted 3)" in said
    assert "5.0 to 5.0 % of a conversion (wanted at most 5)" in said


def test_decoding_and_the_rest_are_compared_apart() -> None:
    one = around(ours=10, pil=10)
    one.pil["decode"] = [15.0]
    assert outside_report.ratio(one, STEPS[:1]) == pytest.approx(3.0)
    assert outside_report.ratio(one, STEPS[1:]) == pytest.approx(1.0)
    assert outside_report.ratio(one, STEPS) == pytest.approx(2.0)
