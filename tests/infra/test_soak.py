"""The soak: statistics with answers known by hand, verdicts on made-up figures, a small run of the real one."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from infra.bench.installed import require
from infra.bench.made_up import jpegs
from infra.bench.soak import Soak
from infra.bench.soak_report import Report
from infra.bench.trend import trend
from infra.bench.verdicts import Verdict, as_text
from infra.errors import NotInstalled
from tests.infra.conftest import Run


def test_a_line_rises_by_what_it_rises_as_a_share_of_its_median() -> None:
    found = trend([10, 11, 12, 13, 14])
    assert found.change == pytest.approx(4 / 12)
    assert (found.low, found.high) == (found.change, found.change)  # all slopes are 1
    assert found.rises
    assert not trend([14, 13, 12, 11, 10]).rises
    assert not trend([10] * 5).rises


def test_one_slow_moment_does_not_move_a_trend() -> None:
    # Slopes between any two: 1 six times, and -87, -43, 45, 89.5 because of the third.
    assert trend([10, 11, 100, 13, 14]).change == pytest.approx(4 / 13)


def test_noise_is_no_trend_and_a_trend_is_found_in_noise() -> None:
    noise = np.random.default_rng(1).normal(100, 10, 800)
    assert not trend(list(noise)).rises
    rising = trend(list(noise + np.linspace(0, 10, 800)))
    assert rising.rises
    assert rising.low < 10 / 105 < rising.high


def soak(**more: list[float]) -> Soak:
    """20 conversions of a second per megapixel, whose first half is for settling, as they are few."""
    said = {"seconds": [0.001] * 20, "cpu": [0.002] * 20, "rss_mib": [100.0] * 20, **more}
    found = Soak(32, 64, pixels=[1000] * 20, threads=[5] * 20, files=[7] * 20)
    for name, values in said.items():
        setattr(found, name, values)
    return found


def holds(found: Soak) -> list[bool]:
    return [one.holds for one in Report({}, found).verdicts()]


def test_what_stays_as_it_is_holds_in_every_respect() -> None:
    assert holds(soak()) == [True] * 4
    assert soak().per_megapixel() == [1000.0] * 20


def test_of_many_the_first_100_are_for_settling_and_200_for_latency() -> None:
    many = Report({}, Soak(32, 64, seconds=[1.0] * 1000))
    assert (many.settled, many.steady) == (100, 800)


def test_latency_may_rise_until_it_is_looked_at_and_not_after_it() -> None:
    assert holds(soak(seconds=[*[0.0001 * number for number in range(1, 11)], *[0.001] * 10]))[0]
    assert not holds(soak(seconds=[0.001 + 0.0001 * number for number in range(20)]))[0]


def test_memory_may_rise_by_two_per_cent_over_the_most_until_it_settled() -> None:
    assert holds(soak(rss_mib=[50.0, *[100.0] * 9, *[102.0] * 10]))[1]
    assert not holds(soak(rss_mib=[50.0, *[100.0] * 9, *[90.0] * 9, 102.1]))[1]


def test_not_one_thread_or_file_may_be_left_over() -> None:
    assert holds(soak(threads=[4, *[5] * 19]))[2]
    assert not holds(soak(threads=[5] * 19 + [6]))[2]
    assert not holds(soak(files=[7] * 19 + [8]))[3]


def test_verdicts_are_a_table_that_shows_what_fails() -> None:
    text = as_text([Verdict("fast", True, "1 ms"), Verdict("small", False, "9 GB")])
    assert [line.split("|")[2].strip() for line in text.splitlines()[2:]] == ["holds", "FAILS"]


def test_photos_are_of_any_size_in_the_bounds_the_largest_first_and_the_same_for_a_seed() -> None:
    photos = list(jpegs(30, 32, 80, seed=3))
    shapes = [cv2.imdecode(np.frombuffer(one, np.uint8), cv2.IMREAD_COLOR).shape[:2] for one in photos]  # type: ignore[union-attr]
    assert shapes[0] == (80, 80)
    assert {side for shape in shapes for side in shape} <= set(range(32, 81))
    assert len(set(shapes)) > 20
    assert photos == list(jpegs(30, 32, 80, seed=3))
    assert photos[1:] != list(jpegs(30, 32, 80, seed=4))[1:]


def test_what_is_not_installed_is_named_before_anything_is_measured() -> None:
    require("json")
    with pytest.raises(NotInstalled, match=r"this needs no_such_package: pip install 'animegan-lambda\[bench\]'"):
        require("json", "no_such_package")


def test_a_soak_goes_through_the_real_function_and_tells_every_conversion(animegan: Run) -> None:
    done = animegan("bench", "soak", "--conversions", 12, "--min-side", 32, "--max-side", 70, "--json")
    assert done.stderr == ""
    said = json.loads(done.stdout)
    found = said["soak"]
    assert found["pixels"][0] == 96 * 96  # 70 pixels, filled up to a multiple of 32
    assert {len(found[name]) for name in ("pixels", "seconds", "cpu", "rss_mib", "threads", "files")} == {12}
    assert min(found["seconds"]) > 0
    assert min(found["cpu"]) > 0
    assert 100 < min(found["rss_mib"]) < 2000
    assert {"CPU", "torch", "preloaded"} <= said["machine"].keys()
    assert done.returncode == (0 if all(one["holds"] for one in said["verdicts"]) else 1)
    assert len(said["verdicts"]) == 4


def test_sides_that_are_the_wrong_way_round_are_one_line(animegan: Run) -> None:
    done = animegan("bench", "soak", "--min-side", 100, "--max-side", 64)
    assert (done.returncode, done.stderr) == (1, "animegan: --min-side 100 is above --max-side 64\n")


def test_a_plot_is_a_png(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    Report({}, soak()).plot(tmp_path / "soak.png")
    assert cv2.imread(str(tmp_path / "soak.png")) is not None
