"""`animegan invoke --s3 DIR`: S3 events on this machine, with a folder's subfolders as buckets."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import s3_events as events
from tests.infra.conftest import EVENTS, Environment, Run, interruptible, picture, size

READY = sorted(EVENTS.glob("s3_*.json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bucket `photos` with one photo."""
    (tmp_path / "s3" / "photos" / "holiday").mkdir(parents=True)
    (tmp_path / "s3" / "photos" / "holiday" / "my cat.jpg").write_bytes(picture(width=64, height=48))
    return tmp_path / "s3"


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_ready_events_of_every_envelope_find_the_photo_and_its_picture_comes_back_as_a_file(
    animegan: Run, folder: Path
) -> None:
    done = animegan("invoke", *READY, "--s3", folder)
    assert done.returncode == 0, done.stderr
    target = folder / "photos" / "anime" / "holiday" / "my cat.jpg.cel.jpg"
    assert files(folder) == {"photos/holiday/my cat.jpg", "photos/anime/holiday/my cat.jpg.cel.jpg"}
    assert size(target) == (64, 48)
    assert f"-> {target}" in done.stderr
    answers = dict(zip([path.stem for path in READY], map(json.loads, done.stdout.splitlines()), strict=True))
    assert answers["s3_sqs"] == {"batchItemFailures": []}
    assert answers["s3_batch_v1"]["results"][0]["resultCode"] == "Succeeded"
    assert answers["s3_test_event"]["ignored"] == 1
    assert [one["status"] for one in answers["s3_map_batch"]["results"]] == [
        "failed",
        "skipped",
    ]  # no file is a folder


def test_what_goes_wrong_is_told_and_nothing_is_written_outside_the_folder(
    animegan: Run, folder: Path, tmp_path: Path
) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps(events.notification("holiday/my cat.jpg", "gone.jpg", "../../../../x.jpg")))
    done = animegan("invoke", event, "--s3", folder, env={"ERROR_REPORTS": "true"})
    said = json.loads(done.stdout)
    assert [one["status"] for one in said["objects"]] == ["converted", "failed", "failed"]
    assert {path.split("/")[0] for path in files(tmp_path)} <= {"event.json", "s3", "cache"}
    reports = {path for path in files(folder) if path.endswith(".error.json")}
    assert len(reports) == 2
    assert all(path.startswith("photos/anime/") for path in reports)


def test_a_second_time_the_work_is_skipped(animegan: Run, folder: Path) -> None:
    done = animegan("invoke", EVENTS / "s3_notification.json", "--s3", folder, "--repeat", 2)
    said = [json.loads(line)["objects"][0]["status"] for line in done.stdout.splitlines()]
    assert said == ["converted", "skipped"]


def test_a_folder_without_buckets_or_with_a_name_that_is_none_is_refused(animegan: Run, tmp_path: Path) -> None:
    for name, told in (("", "has no folders"), ("No Bucket!", "cannot be a bucket")):
        folder = tmp_path / "s3" / name
        folder.mkdir(parents=True, exist_ok=True)
        done = animegan("invoke", EVENTS / "s3_notification.json", "--s3", tmp_path / "s3")
        assert done.returncode == 1
        assert told in done.stderr
        assert "Traceback" not in done.stderr


def test_without_moto_it_says_what_to_install(animegan: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "without" / "moto").mkdir(parents=True)
    (tmp_path / "without" / "moto" / "__init__.py").write_text("raise ImportError")
    done = animegan(
        "invoke",
        EVENTS / "s3_notification.json",
        "--s3",
        folder,
        env={"PYTHONPATH": f"{tmp_path / 'without'}:{EVENTS.parents[1]}"},
    )
    assert done.returncode == 1
    assert "pip install 'moto[server]'" in done.stderr


def test_every_fixture_of_s3_is_invoked_and_answered(
    animegan: Run, folder: Path, shared: Callable[[str], Path]
) -> None:
    chosen = [*shared("data/events").glob("composed/s*.json"), *shared("data/events").glob("composed/ev*.json")]
    done = animegan("invoke", *chosen, "--s3", folder)
    assert len(done.stdout.splitlines()) == len(chosen)
    assert "errorType" not in done.stdout


TARGET = Path("photos", "anime", "holiday", "my cat.jpg.cel.jpg")


def test_pictures_are_written_although_a_later_event_cannot_be_sent(
    animegan: Run, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "large.json").write_text(json.dumps("x" * 7_000_000))
    done = animegan("invoke", EVENTS / "s3_notification.json", tmp_path / "large.json", "--s3", folder)
    assert done.returncode == 1
    assert "6 MB" in done.stderr
    assert size(folder / TARGET) == (64, 48)


def test_pictures_are_written_although_out_gets_none(animegan: Run, folder: Path, tmp_path: Path) -> None:
    event, out = EVENTS / "s3_notification.json", tmp_path / "out.jpg"
    done = animegan("invoke", event, "--s3", folder, "--out", out)
    assert done.returncode == 1
    assert "the answer has no picture" in done.stderr
    assert size(folder / TARGET) == (64, 48)


def test_pictures_are_written_after_ctrl_c(environment: Environment, folder: Path) -> None:
    event = EVENTS / "s3_notification.json"
    command = ("invoke", event, "--repeat", "100000", "--s3", folder)
    with interruptible(environment, *command, stderr=subprocess.DEVNULL) as running:
        assert running.stdout
        assert running.stdout.readline()  # the first is done
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 130
    assert size(folder / TARGET) == (64, 48)


def test_a_picture_that_cannot_be_written_is_told_and_is_a_failure(animegan: Run, folder: Path) -> None:
    (folder / "photos" / "anime").write_bytes(b"a file where a folder would have to be")
    done = animegan("invoke", EVENTS / "s3_notification.json", "--s3", folder)
    assert json.loads(done.stdout)["converted"] == 1
    assert "was not written" in done.stderr
    assert done.returncode == 1
