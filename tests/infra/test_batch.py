from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.aside import aside
from infra.batch import Batch, set_local_limits
from infra.emulator import Emulator
from infra.outcome import Outcome
from infra.photos import find
from tests.infra.conftest import fake_function, picture

Convert = Callable[..., list[Outcome]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "a.jpg").write_bytes(picture("jpg"))
    (tmp_path / "in" / "sub" / "b.png").write_bytes(picture("png"))
    return tmp_path / "in"


def convert(*paths: Path, out: Path | None = None, function: Any = fake_function, **options: Any) -> list[Outcome]:
    emulator = Emulator(lambda: function, limits=False, log=io.StringIO())
    return list(Batch(lambda: emulator, find(paths, out), out, options.pop("parameters", {}), **options))


def test_each_photo_becomes_a_picture_beside_it(folder: Path) -> None:
    outcomes = convert(folder)
    assert [outcome.status for outcome in outcomes] == ["converted", "converted"]
    assert (folder / "a.anime.jpg").read_bytes() == picture("jpg")
    assert (folder / "sub" / "b.anime.png").read_bytes() == picture("png")
    assert outcomes[0].as_text() == f"{folder}/a.jpg -> {folder}/a.anime.jpg (1×2, 0.0 s)\n  warning: Odd."


def test_subfolders_are_kept_below_an_output_folder(folder: Path) -> None:
    convert(folder, out=folder / "out")
    convert(folder, out=folder / "out", force=True)  # which finds none of its own results
    assert sorted(str(p.relative_to(folder)) for p in (folder / "out").rglob("*.*")) == [
        "out/a.jpg",
        "out/sub/b.png",
    ]


def test_a_picture_that_is_there_is_kept_and_named_unless_forced(folder: Path) -> None:
    (folder / "a.anime.jpg").write_bytes(b"mine")
    outcomes = convert(folder)
    assert [outcome.status for outcome in outcomes] == ["skipped", "converted"]
    assert outcomes[0].error == {
        "code": "exists",
        "detail": f"{folder}/a.anime.jpg is there already: --force replaces it",
    }
    assert (folder / "a.anime.jpg").read_bytes() == b"mine"
    assert {outcome.status for outcome in convert(folder, force=True)} == {"converted"}
    assert (folder / "a.anime.jpg").read_bytes() == picture("jpg")


def test_the_function_is_not_started_where_nothing_is_to_be_done(folder: Path) -> None:
    convert(folder)
    found = find([folder], None)
    batch = Batch(lambda: pytest.fail("started"), found, None, {})
    assert [outcome.status for outcome in batch] == ["skipped", "skipped"]


def test_what_a_killed_run_left_beside_pictures_is_removed(folder: Path) -> None:
    ours = aside(folder / "sub" / "x")
    left = ours.with_name(ours.name.rpartition("-")[0] + "-1.part")  # of this number, but begun long before
    left.touch()
    convert(folder)
    assert not left.exists()


def test_bad_files_are_named_with_the_reason_and_the_others_are_converted(folder: Path) -> None:
    (folder / "a.bad.jpg").write_bytes(b"bad")
    outcomes = convert(folder, folder / "missing.jpg")
    assert [(Path(o.source).name, o.status, o.error and o.error["code"]) for o in outcomes] == [
        ("missing.jpg", "failed", "unreadable"),
        ("a.bad.jpg", "failed", "corrupt_image"),
        ("a.jpg", "converted", None),
        ("b.png", "converted", None),
    ]
    assert not (folder / "a.bad.anime.png").exists()


def test_a_photo_that_vanishes_in_between_is_named(folder: Path) -> None:
    def function(event: Any, context: Any) -> Any:
        (folder / "sub" / "b.png").unlink(missing_ok=True)
        return fake_function(event, context)

    last = convert(folder, function=function)[-1]
    assert last.error == {"code": "unreadable", "detail": "No such file or directory"}


def test_a_photo_without_permission_is_named(folder: Path) -> None:
    (folder / "a.jpg").chmod(0)
    if os.access(folder / "a.jpg", os.R_OK):
        pytest.skip("this user may read everything")
    assert convert(folder)[0].error == {"code": "unreadable", "detail": "Permission denied"}


def test_a_picture_that_cannot_be_written_is_named(folder: Path) -> None:
    (folder / "out").write_bytes(b"a file where the folder should be")
    error = convert(folder / "a.jpg", out=folder / "out" / "x")[0].error
    assert error == {"code": "unwritable", "detail": f"{folder}/out/x/a.jpg: Not a directory"}


def test_a_defect_of_the_function_fails_one_photo_and_not_the_batch(folder: Path) -> None:
    def function(event: Any, context: Any) -> Any:
        return 1 / 0 if event["body"].startswith("/9j/") else fake_function(event, context)

    outcomes = convert(folder, function=function)
    assert [outcome.status for outcome in outcomes] == ["failed", "converted"]
    assert outcomes[0].error == {"code": "function_error", "detail": "ZeroDivisionError: division by zero"}


def test_force_never_replaces_a_photo(folder: Path) -> None:
    error = convert(folder / "a.jpg", out=folder, force=True)[0].error
    assert error
    assert error["code"] == "name_taken"
    assert (folder / "a.jpg").read_bytes() == picture("jpg")


def test_a_picture_in_another_format_than_expected_has_that_format_s_name(folder: Path) -> None:
    def function(event: Any, context: Any) -> Any:
        return fake_function({**event, "queryStringParameters": {"format": "webp"}}, context)

    assert convert(folder / "a.jpg", function=function)[0].output == f"{folder}/a.anime.webp"


def test_the_event_carries_the_photo_and_the_parameters(folder: Path) -> None:
    events: list[Any] = []

    def function(event: Any, context: Any) -> Any:
        events.append((event, context.get_remaining_time_in_millis()))
        return fake_function(event, context)

    convert(folder / "a.jpg", function=function, parameters={"size": "99", "format": "png"})
    event, remaining = events[0]
    assert event["rawPath"] == "/convert"
    assert event["rawQueryString"] == "size=99&format=png"
    assert event["isBase64Encoded"] is True
    assert remaining > 3_600_000


def test_json_lines_hold_everything_even_for_names_that_are_no_unicode(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff\n.jpg")
    path.write_bytes(picture())
    outcome = convert(path)[0]
    line = outcome.as_json()
    assert line.isascii()
    assert "\n" not in line
    said = json.loads(line)
    assert said["source"] == str(path)
    assert (said["status"], said["format"], said["width"], said["height"]) == ("converted", "jpeg", 1, 2)
    assert said["timings"] == {"total": 3.0}
    assert said["error"] is None
    assert "\\udcff\\n.jpg -> " in outcome.as_text()


def test_local_limits_are_set_unless_the_user_has_set_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_INPUT_BYTES", "MAX_OUTPUT_BYTES", "MAX_SIDE"):
        monkeypatch.setenv(name, "1")  # so that it is restored
        monkeypatch.delenv(name)
    monkeypatch.setenv("MAX_OUTPUT_BYTES", "5000")
    set_local_limits(2000)
    assert os.environ["MAX_OUTPUT_BYTES"] == "5000"
    assert os.environ["MAX_INPUT_BYTES"] == str(1024**3)
    assert os.environ["MAX_SIDE"] == "2000"


def test_a_batch_goes_on_where_an_earlier_one_was_stopped(folder: Path) -> None:
    for place in range(5):
        (folder / f"c{place}.jpg").write_bytes(picture("jpg", 40 + place, 40))
    emulator = Emulator(lambda: fake_function, limits=False, log=io.StringIO())
    stopped = iter(Batch(lambda: emulator, find([folder], None), None, {}))
    first = [next(stopped).status for _ in range(3)]
    assert first == ["converted"] * 3
    assert [outcome.status for outcome in convert(folder)] == ["skipped"] * 3 + ["converted"] * 4


def test_files_that_are_still_being_written_are_counted_and_left(folder: Path) -> None:
    for name in ("x.jpg.part", "y.crdownload", "z.jpg~", "w.tmp"):
        (folder / name).write_bytes(picture("jpg"))
    found = find([folder], None)
    assert found.left == {"unfinished": 4}
    assert [photo.path.name for photo in found.photos] == ["a.jpg", "b.png"]
    assert [photo.path.name for photo in find([folder / "z.jpg~"], None).photos] == ["z.jpg~"]
