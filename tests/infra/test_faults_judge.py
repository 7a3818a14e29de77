"""Runs that are kept and judged: matrices by hand, what a killed run leaves, and one real run from end to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from infra.errors import BadRequest
from infra.faults import kept as keeping
from infra.faults.judge import Judged, Matrix
from infra.faults.kept import LABEL, Label, has, kept, make
from infra.faults.perform import LOG, Seen
from infra.faults.report import Report, matrix
from infra.faults.scenario import Half, Photos, Run, Scenario
from infra.faults.styles import lay_out
from tests.infra.conftest import ROOT, Environment
from tests.infra.conftest import Run as Command


def judged(cause: str, said: str, number: int = 1, set: str = "held", late_s: float | None = None) -> Judged:
    return Judged(f"{cause}-{set[0]}{number:02}", set, cause, said, [1.5], [40.0, 90.0], late_s)


def report(*runs: Judged, failed: tuple[str, ...] = ()) -> Report:
    return Report({"CPU": "a test's"}, list(runs), list(failed))


def holds(found: Report) -> list[bool]:
    return [verdict.holds for verdict in found.verdicts()]


# The matrix and its verdicts


def test_the_matrix_counts_what_was_said_of_each_fault() -> None:
    runs = [judged("a", "a"), judged("a", "a"), judged("a", "b"), judged("b", "b"), judged("b", "not sure")]
    found = Matrix.of(runs, ["a", "b", "c"])
    assert found.causes == ["a", "b", "c", "not sure"]
    assert [found.row(cause) for cause in found.causes] == [[2, 1, 0, 0], [0, 1, 0, 1], [0] * 4, [0] * 4]


def test_the_table_has_a_letter_for_each_column_and_the_share_that_is_right() -> None:
    lines = matrix(Matrix.of([judged("a", "a"), judged("a", "b"), judged("b", "b")], ["a", "b"])).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == ["made \\ said", "a", "b", "right"]
    assert cells[2:] == [["a a", "1", "1", "1 of 2"], ["b b", "·", "1", "1 of 1"]]


@pytest.mark.parametrize(("right", "is_enough"), [(57, True), (56, False)])
def test_of_sixty_faults_three_may_be_missed(right: int, is_enough: bool) -> None:
    runs = [judged("paging", "paging" if number < right else "no_change", number) for number in range(60)]
    clean = [judged("no_change", "no_change", number) for number in range(20)]
    assert holds(report(*runs, *clean)) == [True, is_enough, True]
    assert f"{right} of 60" in report(*runs, *clean).verdicts()[1].figures


def test_one_false_alarm_is_too_many() -> None:
    clean = [judged("no_change", "no_change", number) for number in range(19)]
    assert holds(report(*clean, judged("no_change", "paging"))) == [True, False]
    assert holds(report(*clean, judged("no_change", "not_enough_data"))) == [True, True]  # no alarm, but not right


def test_runs_that_rules_were_tuned_on_are_told_apart_and_do_not_count() -> None:
    tuned = [judged("paging", "queueing", number, "tune") for number in range(5)]
    found = report(judged("paging", "paging"), *tuned)
    assert holds(found) == [True, True]
    text = found.as_text()
    assert text.index("were not tuned on") < text.index("were there when the rules were made")
    assert text.count("paging-t0") == 5  # each that was wrong is listed


def test_a_run_that_could_not_be_made_is_a_failure_and_is_named() -> None:
    found = report(judged("paging", "paging"), failed=("queueing-h01: lost",))
    assert holds(found) == [False, True]
    assert "queueing-h01: lost" in found.as_text()


def test_how_far_off_the_beginning_is_counts_for_those_that_are_right() -> None:
    runs = [judged("paging", "paging", late_s=-2.0), judged("paging", "paging", late_s=1.0)]
    assert "off by 1.5 s" in report(*runs, judged("paging", "queueing", late_s=99.0)).as_text()


# What is kept

USUAL = Half((Photos(40, 64, distinct=4),))
CLEAN = Run("tune", "no_change", 1, Scenario("serve", USUAL, USUAL, (24, 24)), {"of": ["a test"]})


@pytest.fixture
def performed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that are done at once."""

    def perform(run: Run, folder: Path, styles: Path, noisy: bool) -> Seen:
        folder.mkdir()
        (folder / LOG).write_text("{}\n")
        return Seen([1.0, 2.0], [0, 0], [0, 0], [0.1, 0.0], 7.0)

    monkeypatch.setattr(keeping, "perform", perform)


@pytest.mark.usefixtures("performed")
def test_a_run_that_is_kept_says_what_it_was(tmp_path: Path) -> None:
    assert not has(CLEAN, tmp_path)
    label = make(CLEAN, tmp_path, tmp_path)
    assert has(CLEAN, tmp_path)
    assert list(kept(tmp_path)) == [(tmp_path / "no_change-t01" / LOG, label)]
    assert label.seen["medians_ms"] == [1.0, 2.0]
    assert label.scenario["before"]["photos"][0]["most"] == 64
    assert [path.name for path in tmp_path.iterdir()] == ["no_change-t01"]


@pytest.mark.usefixtures("performed")
def test_what_a_killed_run_left_is_neither_counted_nor_in_the_way(tmp_path: Path) -> None:
    make(CLEAN, tmp_path, tmp_path)
    (tmp_path / "no_change-t01").rename(tmp_path / ".part-no_change-t01")  # killed just before it was moved
    assert not list(kept(tmp_path))
    assert not has(CLEAN, tmp_path)
    make(CLEAN, tmp_path, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["no_change-t01"]


@pytest.mark.usefixtures("performed")
def test_a_run_of_an_older_plan_is_made_again(tmp_path: Path) -> None:
    make(CLEAN, tmp_path, tmp_path)
    newer = replace(CLEAN, scenario=replace(CLEAN.scenario, conversions=(30, 30)))
    assert not has(newer, tmp_path)
    make(newer, tmp_path, tmp_path)
    assert has(newer, tmp_path)
    assert len(list(kept(tmp_path))) == 1


@pytest.mark.usefixtures("performed")
def test_a_run_that_was_disturbed_is_made_again_unless_that_is_taken(tmp_path: Path) -> None:
    make(CLEAN, tmp_path, tmp_path)
    path = tmp_path / "no_change-t01" / LABEL
    path.write_text(path.read_text().replace("0.1", "0.9"))
    assert Label.read(path.parent).seen["others"] == [0.9, 0.0]
    assert has(CLEAN, tmp_path, noisy=True)
    assert not has(CLEAN, tmp_path)


def test_a_run_that_fails_is_not_kept_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def perform(run: Run, folder: Path, styles: Path, noisy: bool) -> Seen:
        folder.mkdir()
        (folder / LOG).write_text("first\nthe end of it\n")
        raise BadRequest("an answer was lost")

    monkeypatch.setattr(keeping, "perform", perform)
    with pytest.raises(BadRequest, match=r"no_change-t01: an answer was lost; the log ends: the end of it"):
        make(CLEAN, tmp_path, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_label_that_is_damaged_is_named(tmp_path: Path) -> None:
    (tmp_path / "paging-h01").mkdir()
    (tmp_path / "paging-h01" / LABEL).write_text("{")
    with pytest.raises(BadRequest, match=r"paging-h01/label\.json is no label"):
        list(kept(tmp_path))


def test_a_folder_without_runs_is_an_error(animegan: Command, tmp_path: Path) -> None:
    done = animegan("bench", "diagnose", "--judge", tmp_path)
    assert done.returncode == 1
    assert done.stderr.strip() == f"animegan: {tmp_path} has no run to judge"
    assert "is no folder" in animegan("bench", "diagnose", "--judge", tmp_path / "none").stderr


# Real runs


@pytest.fixture
def styles(frozen_styles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STYLES_DIR", str(frozen_styles))
    folder = tmp_path / "styles"
    folder.mkdir()
    return lay_out(folder)


def test_the_plain_style_has_float32_alone(styles: Path) -> None:
    def files(name: str) -> set[str]:
        return set(json.loads((styles / name / "manifest.json").read_text())["modules"])

    assert files("cel") == {"float32", "bfloat16"}
    assert files("plain") == {"float32"}


def conversions(log: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == "conversion"]


@pytest.mark.slow
def test_a_real_run_leaves_a_real_log_that_can_be_judged(styles: Path, tmp_path: Path, animegan: Command) -> None:
    leaking = replace(USUAL, leak_mib=4.0)
    scenario = Scenario("serve", leaking, leaking, (24, 24))
    where = tmp_path / "kept"
    where.mkdir()
    label = make(Run("held", "memory_growth", 1, scenario, {"of": [4.0, "start"]}), where, styles, noisy=True)
    lines = conversions(where / "memory_growth-h01" / LOG)
    assert len(lines) == 48
    assert {line["error"] for line in lines} == {None}
    grown = [line["MemoryUsed"][0] for line in lines]  # type: ignore[index]
    assert grown[-1] - grown[0] > 0.8 * 47 * 4
    assert label.seen["refused"] == [0, 0]
    done = animegan("bench", "diagnose", "--judge", where)
    assert "made \\ said" in done.stdout
    assert "1 with a fault, 0 without" in done.stdout


@pytest.mark.slow
def test_a_fault_that_needs_another_environment_changes_processes_half_way(styles: Path, tmp_path: Path) -> None:
    scenario = Scenario("http_event", USUAL, replace(USUAL, variables={"NUM_THREADS": "3"}), (5, 4))
    make(Run("tune", "thread_oversubscription", 1, scenario, {"of": [3, "middle"]}), tmp_path, styles, noisy=True)
    lines = conversions(tmp_path / "thread_oversubscription-t01" / LOG)
    assert [line["threads"] for line in lines] == [2] * 5 + [3] * 4


@pytest.mark.slow
def test_a_run_that_was_killed_does_not_count(styles: Path, tmp_path: Path, environment: Environment) -> None:
    """And with SIGTERM, what it started ends."""
    where = tmp_path / "kept"
    command = [sys.executable, "-m", "infra.cli", "bench", "diagnose", "--set", "tune", "--only", "queueing"]
    process = subprocess.Popen([*command, "--keep", str(where)], env=environment, cwd=ROOT)
    wait_for(lambda: bool(list(where.glob(".part-*/processes/*"))))
    children = psutil_children(process.pid)
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    assert not list(kept(where))
    assert children
    wait_for(lambda: not any(_runs(pid) for pid in children))


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def psutil_children(pid: int) -> list[int]:
    import psutil

    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    import psutil

    return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_labels_read_back_as_they_were_written(tmp_path: Path) -> None:
    seen = {"changed_at": 1.5}
    label = Label("held", "paging", 3, {"of": [0.1]}, asdict(CLEAN.scenario), seen, 9.0, {"CPU": "x"})
    (tmp_path / LABEL).write_text(json.dumps(asdict(label)))
    assert asdict(Label.read(tmp_path)) == json.loads(json.dumps(asdict(label)))
