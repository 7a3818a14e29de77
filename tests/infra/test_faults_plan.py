"""The plan of runs: how many, how different, the same each time; and what the rows of strengths become."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

import pytest

from infra.faults.pictures import encoded, wishes
from infra.faults.plan import CAUSES, planned
from infra.faults.scenario import Half, Photos, Run
from infra.faults.strengths import SIDES, STRENGTHS
from tests.infra.conftest import Run as Command

HELD, TUNE = planned("held"), planned("tune")


def only(cause: str, number: int = 1, runs: list[Run] = TUNE) -> Run:
    [found] = [run for run in runs if run.cause == cause and run.number == number]
    return found


def test_sixty_runs_have_a_fault_and_twenty_have_none() -> None:
    injected = Counter(run.cause for run in HELD if run.injected)
    assert injected.total() >= 60
    assert sum(not run.injected for run in HELD) >= 20
    assert all(count >= 5 for count in injected.values())


def test_every_cause_that_the_issue_names_has_three_strengths_to_tune_on() -> None:
    named = {"larger_inputs", "queueing", "cpu_contention", "thread_oversubscription", "memory_growth", "paging"}
    named |= {"cold_starts", "slow_decode", "slow_encode", "slow_s3", "cache_misses", "slower_style", "fewer_cpus"}
    assert set(CAUSES) == named | {"no_change"}
    for cause in named:
        assert len(STRENGTHS[cause]["tune"]) >= 3, cause


def test_no_scenario_is_in_both_sets() -> None:
    seen = {json.dumps(asdict(run.scenario), sort_keys=True) for run in TUNE}
    assert not seen & {json.dumps(asdict(run.scenario), sort_keys=True) for run in HELD}
    assert not set(SIDES["tune"]) & set(SIDES["held"])


def test_strengths_that_are_numbers_are_shared_by_the_sets_only_where_chance_drew_one_again() -> None:
    kinds = ("larger_inputs", "cpu_contention", "memory_growth", "paging", "cache_misses")
    tuned, drawn = (
        {(kind, json.dumps(row)) for kind in kinds for row in STRENGTHS[kind][name]} for name in ("tune", "held")
    )
    assert len(drawn) >= 4 * len(kinds)
    assert len(tuned & drawn) <= 1


def test_rows_of_the_held_set_lie_within_the_ranges_that_are_told() -> None:
    for (times,) in STRENGTHS["larger_inputs"]["held"]:
        assert 1.25 <= times <= 2.8
    for hogs, duty in STRENGTHS["cpu_contention"]["held"]:
        assert 1 <= hogs <= 6
        assert 0.6 <= duty <= 1
    assert {row[0] for row in STRENGTHS["slower_style"]["held"]} == {"PRECISION", "KERNEL", "STYLE", "asked"}
    assert all(set(row[0]) <= {"GET", "HEAD", "PUT"} for row in STRENGTHS["slow_s3"]["held"])


def test_pictures_of_slow_decoding_are_as_large_as_before() -> None:
    for run in (run for run in HELD + TUNE if run.cause == "slow_decode"):
        photos = run.scenario.before.photos + run.scenario.after.photos
        assert all(one.least >= int(one.query["size"]) for one in photos), run.name


def test_the_plan_is_the_same_each_time_and_its_names_are_unique() -> None:
    assert planned("held") == HELD
    names = [run.name for run in HELD + TUNE]
    assert len(names) == len(set(names))


def test_the_first_runs_are_a_bit_of_everything() -> None:
    assert {run.cause for run in HELD[: len(CAUSES)]} == set(CAUSES)


def test_each_side_of_the_change_has_enough_conversions_for_a_diagnosis() -> None:
    for run in HELD + TUNE:  # 40 in all, 15 on each side
        assert sum(run.scenario.conversions) >= 40, run.name
        assert min(run.scenario.conversions) >= 15, run.name


def test_faults_differ_between_the_halves_unless_they_are_there_all_along() -> None:
    for run in HELD + TUNE:
        same = run.scenario.before == run.scenario.after
        assert same is (not run.injected or "start" in run.strength["of"]), run.name


def test_larger_inputs_have_their_sides_multiplied() -> None:
    run = only("larger_inputs", 2)  # twice
    [before], [after] = run.scenario.before.photos, run.scenario.after.photos
    assert (after.least, after.most) == (2 * before.least, 2 * before.most)


def test_only_a_change_of_what_processes_start_with_restarts_them() -> None:
    assert only("thread_oversubscription", 2).scenario.restarts
    assert only("slower_style", 1).scenario.restarts
    assert not only("cpu_contention").scenario.restarts
    assert not only("slow_s3").scenario.restarts
    clean = [run for run in TUNE if not run.injected and run.scenario.restarts]
    assert [run.strength["of"][0] for run in clean] == ["restart"]


def test_slow_decoding_does_not_make_pictures_larger() -> None:
    for run in (run for run in HELD + TUNE if run.cause == "slow_decode"):
        photos = run.scenario.before.photos + run.scenario.after.photos
        assert len({one.query["size"] for one in photos}) == 1


# Photos


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        ("jpeg", b"\xff\xd8\xff"),
        ("progressive", b"\xff\xd8\xff"),
        ("png", b"\x89PNG"),
        ("webp", b"RIFF"),
        ("tiff", b"II*\0"),
    ],
)
def test_photos_are_of_their_kind_and_size(kind: str, begins: bytes) -> None:
    from io import BytesIO

    from PIL import Image

    data = encoded(70, 50, kind, seed=1)  # type: ignore[arg-type]
    assert data.startswith(begins)
    with Image.open(BytesIO(data)) as picture:
        assert picture.size == (70, 50)
        assert bool(picture.info.get("progressive")) is (kind == "progressive")
    assert encoded(70, 50, kind, seed=1) == data  # type: ignore[arg-type]
    assert encoded(70, 50, kind, seed=2) != data  # type: ignore[arg-type]


def test_photos_repeat_unless_new_ones_are_wanted() -> None:
    from random import Random

    again = wishes(Half((Photos(32, 40, distinct=3),)), 40, Random(1))
    assert len({wish.photo for wish in again}) == 3
    new = wishes(Half((Photos(32, 40, distinct=3, new=1.0),)), 40, Random(1))
    assert len({wish.photo for wish in new}) == 40


def test_questions_take_each_of_several_kinds() -> None:
    from random import Random

    half = Half((Photos(32, 40, distinct=2), Photos(32, 40, "png", {"format": "webp"}, 2)))
    seen = Counter((wish.kind, wish.query.get("format")) for wish in wishes(half, 60, Random(1)))
    assert set(seen) == {("jpeg", None), ("png", "webp")}
    assert min(seen.values()) > 15


def test_the_command_prints_its_plan(animegan: Command) -> None:
    done = animegan("bench", "diagnose", "--plan", "--only", "queueing")
    assert done.returncode == 0
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        f"queueing-h{number:02}" for number in range(1, 6)
    ]
