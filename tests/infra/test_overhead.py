"""What recorder and line cost: the statistics by hand, and that a slow recorder or line is noticed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pytest

from handler.convert import ConversionRequest
from handler.converter import Converter
from handler.metrics import LogLines
from handler.settings import Settings
from handler.stages import Stages
from infra.bench.overhead import ALONE, Overhead, Overheads
from infra.bench.overhead_report import Report
from tests.handler.s3_fakes import Negatives, photo
from tests.infra.conftest import Run

PAIRS = 3


def measured() -> tuple[Overhead, list[dict[str, Any]]]:
    """With a network that costs nothing; and the lines that were written meanwhile."""
    log = LogLines(vcpus=1, threads=1)
    converter = Converter(Settings(cache_bytes=0), Negatives(), log)  # type: ignore[arg-type]
    with redirect_stdout(StringIO()) as out:
        found = Overheads(converter, ConversionRequest(photo(), "cel")).measure(48, PAIRS, lambda done: None)
    return found, [json.loads(line) for line in out.getvalue().splitlines()]


def slowed(work: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    def slower(*said: Any) -> Any:
        time.sleep(seconds)
        return work(*said)

    return slower


def overhead(in_place: float = 0.0005, alone: float = 0.0002, bare: float = 0.5) -> Overhead:
    """Nine pairs, of which the conversions with recorder took 1 to 9 ms longer."""
    recorded = [bare + longer / 1000 for longer in (3, 1, 2, 9, 5, 4, 8, 7, 6)]
    return Overhead(512, "float32", recorded, [bare] * 9, [in_place] * 9, alone, 1800)


def test_pairs_differ_by_their_median_and_an_interval_of_order_statistics() -> None:
    # Nine pairs: (9 - 1.96 × 3) / 2 = 1.56, so one is left out at each end.
    assert overhead().difference() == pytest.approx((0.005, 0.002, 0.008))


@pytest.mark.parametrize(
    ("found", "holds"),
    [
        (overhead(), [True, True]),
        (overhead(in_place=0.0011, bare=0.5), [False, False]),
        (overhead(in_place=0.0009, bare=0.5), [True, True]),
        (overhead(in_place=0.0009, bare=0.4), [True, False]),
        (overhead(alone=0.0011), [False, True]),
    ],
)
def test_over_a_millisecond_or_two_thousandths_is_too_much(found: Overhead, holds: list[bool]) -> None:
    report = Report({"CPU": "made up"}, found)
    assert [one.holds for one in report.verdicts()] == holds
    assert "made up" in report.as_text()


def test_conversions_without_leave_no_line_and_none_of_the_time() -> None:
    found, lines = measured()
    assert len(lines) == 1 + 2 * PAIRS  # the first; of each pair, that with both and that which is timed in place
    assert all(line["DecodeDuration"][0] > 0 and line["error"] is None for line in lines)
    assert len(found.recorded) == len(found.bare) == len(found.in_place) == PAIRS
    assert 0 < max(found.in_place) < max(found.recorded)
    assert found.line_bytes == pytest.approx(len(json.dumps(lines[0])), rel=0.1)


def test_a_slow_line_is_noticed_in_place_and_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.bench.overhead.ALONE", 5)
    monkeypatch.setattr(LogLines, "conversion", slowed(LogLines.conversion, 0.02))
    found, _ = measured()
    assert ALONE > 5
    assert min([*found.in_place, found.alone, *found.recorded]) >= 0.02


def test_a_slow_recorder_is_noticed_in_place_and_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.bench.overhead.ALONE", 5)
    monkeypatch.setattr(Stages, "__call__", slowed(Stages.__call__, 0.004))
    found, _ = measured()
    assert min([*found.in_place, found.alone, *found.recorded]) >= 0.02  # five stages


def test_the_command_measures_the_real_network(animegan: Run) -> None:
    done = animegan("bench", "overhead", "--side", 64, "--pairs", 2, "--json")
    assert done.stderr == ""
    said = json.loads(done.stdout)
    assert said["machine"]["threads"]
    assert len(said["overhead"]["recorded"]) == 2
    assert done.returncode == (0 if all(one["holds"] for one in said["verdicts"]) else 1)
