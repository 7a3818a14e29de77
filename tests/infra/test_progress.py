"""Rates, time left and summaries, with a clock that the tests set."""

from __future__ import annotations

from collections import Counter

import pytest

from infra import progress
from infra.outcome import Outcome
from infra.pace import Pace, clock, rate, spent
from infra.summary import NAMED, SCREEN, Summary


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_rate_and_time_left_go_by_the_last_steps() -> None:
    time = Clock()
    pace = Pace(time)
    pace.step(0, 10)
    assert str(pace) == ""
    time.now += 4
    pace.step(2, 10)
    assert (pace.per_second, pace.seconds_left) == (0.5, 16)
    assert str(pace) == "30/min, 0:16 left"
    time.now += 1
    assert pace.seconds_left == 15  # it counts down during a step


def test_old_steps_are_forgotten() -> None:
    time = Clock()
    pace = Pace(time)
    for done in range(1, 41):
        time.now += 10 if done <= 20 else 1
        pace.step(done, None)
    assert pace.per_second == 1
    assert pace.seconds_left is None
    assert str(pace) == "1.0/s"


def test_a_rate_survives_steps_of_a_minute_and_a_new_beginning() -> None:
    time = Clock()
    pace = Pace(time)
    time.now += 60
    pace.step(1, 3)
    assert str(pace) == "1/min, 2:00 left"
    pace.step(0, 5)
    assert pace.per_second is None


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (7.4, "0:07"), (59.6, "1:00"), (750, "12:30"), (3723, "1:02:03")]
)
def test_times_are_shown_as_on_a_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_short_times_and_slow_rates_have_units() -> None:
    assert (spent(4.21), spent(59.99), spent(61)) == ("4.2 s", "1:00", "1:01")
    assert (rate(2.46), rate(0.2), rate(0.001), rate(None)) == ("2.5/s", "12/min", "0.06/min", "")


def test_without_a_terminal_long_work_is_told_every_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    time = Clock()
    advance = progress._lines("painting", time)
    for done in range(1, 8):
        time.now += 10
        advance(done, 20)
    assert capsys.readouterr().err.splitlines() == [
        "painting: 3 of 20, 6/min, 2:50 left",
        "painting: 6 of 20, 6/min, 2:20 left",
    ]


def outcome(status: str, name: str = "a.jpg") -> Outcome:
    if status == "failed":
        return Outcome(name, "failed", error={"code": "corrupt_image", "detail": "Torn."})
    return Outcome(name, "converted" if status == "converted" else "skipped")


def test_a_summary_counts_and_tells_time_and_rate_of_what_was_worked_on() -> None:
    time = Clock()
    summary = Summary(time)
    for status in ["skipped"] * 5 + ["converted"] * 5 + ["failed"]:
        summary.add(outcome(status))
    time.now += 3
    assert summary.worked == 6
    assert summary.lines(Counter(hidden=2, unfinished=1)) == [
        "animegan: 5 converted, 5 skipped, 1 failed in 3.0 s (2.0/s); left: 2 hidden, 1 unfinished"
    ]


def test_a_photo_that_failed_and_came_again_counts_as_it_ended() -> None:
    summary = Summary(Clock())
    for number in range(SCREEN):
        summary.add(outcome("converted", f"{number}.jpg"))
    for status, name in [("failed", "a.jpg"), ("failed", "b.jpg"), ("failed", "b.jpg"), ("converted", "a.jpg")]:
        summary.add(outcome(status, name))
    told, *failed, whole = summary.lines({})
    assert told == "animegan: these failed:"
    assert failed == ["  b.jpg: failed: Torn. [corrupt_image]"]
    assert whole.startswith(f"animegan: {SCREEN + 1} converted, 1 failed in ")
    assert summary.worked == SCREEN + 4  # a rate is of all that was worked on


def test_time_before_the_first_photo_is_not_the_photos() -> None:
    time = Clock()
    summary, pace = Summary(time), Pace(time)
    pace.step(0, 4)
    time.now += 30  # a style is frozen
    summary.begin()
    pace.step(0, 4)
    for done in (1, 2):
        time.now += 1
        summary.add(outcome("converted"))
        pace.step(done, 4)
    assert summary.lines({}) == ["animegan: 2 converted in 2.0 s (1.0/s)"]
    assert str(pace) == "1.0/s, 0:02 left"


def test_where_nothing_was_converted_no_rate_is_made_up() -> None:
    summary = Summary(Clock())
    assert summary.lines({}) == ["animegan: no photo found to convert"]
    summary.add(outcome("skipped"))
    assert summary.lines({}) == ["animegan: 1 skipped"]


def test_failures_that_have_scrolled_away_are_told_again_up_to_a_number() -> None:
    summary = Summary(Clock())
    for place in range(NAMED + 3):
        summary.add(outcome("failed", f"{place}.jpg"))
    assert len(summary.lines({})) == 1
    for _ in range(SCREEN):
        summary.add(outcome("skipped"))
    lines = summary.lines({})
    assert lines[:2] == ["animegan: these failed:", "  0.jpg: failed: Torn. [corrupt_image]"]
    assert lines[-2:] == ["  and 3 more", f"animegan: {SCREEN} skipped, {NAMED + 3} failed"]
    assert len(lines) == NAMED + 3
