"""Photos are converted as they land: once, when they are whole, whatever else happens in the folder."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from infra.batch import Batch
from infra.emulator import Emulator
from infra.errors import BadRequest
from infra.outcome import Outcome
from infra.watch import SETTLED_S, Watch, Watching
from tests.infra.conftest import Environment, Run, fake_function, interruptible, picture, size


class Clock:
    """Time goes on only when somebody sleeps; what is in `plan` happens then, one thing a second."""

    def __init__(self) -> None:
        self.now = 0.0
        self.plan: list[Callable[[], object]] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.plan:
            self.plan.pop(0)()
        elif self.now > 1000:
            raise KeyboardInterrupt


class Desk:
    """A watched folder, with all that comes of it."""

    def __init__(self, folder: Path, out: Path | None = None) -> None:
        self.folder, self.out, self.clock = folder, out, Clock()
        self.said: list[str] = []
        self.watch = Watch([folder], out, self.said.append, self.clock)

    def outcomes(self, *plan: Callable[[], object]) -> list[Outcome]:
        """Everything until nothing happens any more."""
        self.clock.plan += plan
        return list(self._until_ctrl_c())

    def _until_ctrl_c(self) -> Iterator[Outcome]:
        emulator = Emulator(lambda: fake_function, limits=False, log=io.StringIO())
        make = lambda found, stale: Batch(lambda: emulator, found, self.out, {}, False, stale)  # noqa: E731
        try:
            yield from Watching(self.watch, make, self.clock.sleep)
        except KeyboardInterrupt:
            self.clock.now = 0


def told(outcomes: list[Outcome]) -> list[tuple[str, str]]:
    return [(Path(outcome.source).name, outcome.status) for outcome in outcomes]


def nothing() -> None:
    pass


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def put(path: Path, data: bytes = b"") -> Callable[[], object]:
    return lambda: path.write_bytes(data or picture("jpg"))


def test_what_is_there_and_what_lands_is_converted_once(folder: Path) -> None:
    put(folder / "a.jpg")()
    (folder / "sub").mkdir()
    done = Desk(folder).outcomes(put(folder / "sub" / "b.jpg"), nothing, put(folder / "c.jpg"))
    assert told(done) == [("a.jpg", "converted"), ("b.jpg", "converted"), ("c.jpg", "converted")]
    assert (folder / "sub" / "b.anime.jpg").read_bytes() == picture("jpg")
    assert told(Desk(folder).outcomes()) == [("a.jpg", "skipped"), ("c.jpg", "skipped"), ("b.jpg", "skipped")]


def test_a_slow_copy_is_left_alone_until_it_has_ended(folder: Path) -> None:
    whole = picture("jpg")
    grow = [put(folder / "a.jpg", whole[: 100 * (place + 1)]) for place in range(6)]
    desk = Desk(folder)
    done = desk.outcomes(*grow, put(folder / "a.jpg", whole))
    assert told(done) == [("a.jpg", "converted")]
    assert (folder / "a.anime.jpg").read_bytes() == whole


def test_a_copy_that_pauses_for_long_fails_and_is_converted_when_it_goes_on(folder: Path) -> None:
    pause = [nothing] * (int(SETTLED_S) + 2)
    done = Desk(folder).outcomes(put(folder / "a.jpg", b"\xff\xd8\xffbad"), *pause, put(folder / "a.jpg"))
    assert told(done) == [("a.jpg", "failed"), ("a.jpg", "converted")]


def test_a_photo_that_changes_is_converted_again_even_by_an_older_file(folder: Path) -> None:
    older = folder.parent / "older.jpg"
    older.write_bytes(picture("jpg", 50, 40))
    os.utime(older, (1_000_000_000, 1_000_000_000))
    wait = [nothing] * 4
    done = Desk(folder).outcomes(put(folder / "a.jpg"), *wait, lambda: older.rename(folder / "a.jpg"))
    assert told(done) == [("a.jpg", "converted")] * 2
    assert (folder / "a.anime.jpg").read_bytes() == picture("jpg", 50, 40)


def test_a_photo_that_changed_while_nobody_watched_is_converted_again(folder: Path) -> None:
    put(folder / "a.jpg")()
    (folder / "a.anime.jpg").write_bytes(b"of the photo before")
    os.utime(folder / "a.anime.jpg", (1_000_000_000, 1_000_000_000))
    assert told(Desk(folder).outcomes()) == [("a.jpg", "converted")]


def test_files_that_are_no_photos_or_not_yet_are_left(folder: Path) -> None:
    (folder / "sub.jpg").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.jpg")
    for name in (".hidden.jpg", "a.jpg.part", "a.jpg.crdownload", "a.jpg~", "psA1.tmp", "b.anime.jpg"):
        put(folder / name)()
    put(folder / "notes.txt", b"text")()
    (folder / "empty.jpg").touch()
    finished = lambda: (folder / "a.jpg.part").rename(folder / "a.jpg")  # noqa: E731
    assert told(Desk(folder).outcomes(nothing, nothing, finished)) == [("a.jpg", "converted")]


def test_an_output_folder_within_the_watched_one_starts_nothing(folder: Path) -> None:
    put(folder / "a.jpg")()
    desk = Desk(folder, folder / "anime")
    assert told(desk.outcomes(*[nothing] * 9)) == [("a.jpg", "converted")]
    assert [path.name for path in (folder / "anime").iterdir()] == ["a.jpg"]


def test_photos_that_differ_in_their_ending_alone_keep_their_pictures_apart(folder: Path) -> None:
    gif, png, wait = b"GIF89a", b"\x89PNG\r\n\x1a\n", [nothing] * 4
    done = Desk(folder).outcomes(put(folder / "a.gif", gif), *wait, put(folder / "a.png", png))
    assert told(done) == [("a.gif", "converted"), ("a.png", "converted")]
    assert (folder / "a.anime.png").read_bytes() == gif
    assert (folder / "a.png.anime.png").read_bytes() == png


def test_a_picture_is_never_replaced_by_that_of_another_photo_even_one_whose_photo_has_gone(folder: Path) -> None:
    gif, png, wait = b"GIF89a", b"\x89PNG\r\n\x1a\n", [nothing] * 4
    done = Desk(folder).outcomes(
        put(folder / "a.gif", gif),
        *wait,
        (folder / "a.gif").unlink,
        put(folder / "a.png", png),
        *wait,
        put(folder / "a.gif", gif + b"2"),
        *wait,
        put(folder / "a.png", png + b"2"),
    )
    assert told(done) == [(name, "converted") for name in ("a.gif", "a.png", "a.gif", "a.png")]
    assert (folder / "a.anime.png").read_bytes() == gif + b"2"
    assert (folder / "a.png.anime.png").read_bytes() == png + b"2"


def test_photos_of_one_name_in_two_watched_folders_keep_their_pictures_apart(folder: Path, tmp_path: Path) -> None:
    (other := tmp_path / "in2").mkdir()
    desk, wait = Desk(folder, tmp_path / "out"), [nothing] * 4
    desk.watch = Watch([folder, other], tmp_path / "out", desk.said.append, desk.clock)
    one, two, three = (picture("png", width, 40) for width in (50, 60, 70))
    desk.outcomes(
        put(folder / "a.png", one), *wait, put(other / "a.png", two), *wait, put(folder / "a.png", three)
    )
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        "a.png": three,
        "a.png.png": two,
    }


def test_a_folder_that_goes_and_comes_back_is_said_once_each(folder: Path) -> None:
    put(folder / "a.jpg")()
    desk = Desk(folder)
    away = folder.with_name("away")
    wait = [nothing] * 4
    done = desk.outcomes(
        *wait, lambda: folder.rename(away), *wait, lambda: away.rename(folder), *wait, put(folder / "b.jpg")
    )
    assert told(done) == [("a.jpg", "converted"), ("b.jpg", "converted")]
    assert desk.said == [
        f"animegan: {folder} is gone; waiting for it to come back",
        f"animegan: {folder} is back",
    ]


def test_a_photo_that_goes_while_it_waits_is_no_failure(folder: Path) -> None:
    put(folder / "a.jpg")()
    assert told(Desk(folder).outcomes(nothing, lambda: (folder / "a.jpg").unlink())) == []


def test_the_same_folder_named_twice_gives_each_photo_once(folder: Path) -> None:
    put(folder / "a.jpg")()
    clock = Clock()
    watch = Watch([folder, folder], None, pytest.fail, clock)
    assert watch.look() == []
    clock.now = SETTLED_S
    assert [photo.path.name for photo in watch.look()] == ["a.jpg"]
    assert watch.look() == []


def test_what_cannot_be_watched_is_refused(folder: Path) -> None:
    with pytest.raises(BadRequest, match="is not there: make the folder first"):
        Watch([folder / "no"], None, pytest.fail)
    with pytest.raises(BadRequest, match="is both searched for photos and to be written to"):
        Watch([folder], folder, pytest.fail)


def test_the_length_grows_with_what_has_landed(folder: Path) -> None:
    for name in "abc":
        put(folder / f"{name}.jpg")()
    clock = Clock()
    emulator = Emulator(lambda: fake_function, limits=False, log=io.StringIO())
    watching = Watching(
        Watch([folder], None, pytest.fail, clock),
        lambda found, stale: Batch(lambda: emulator, found, None, {}, False, stale),
        clock.sleep,
    )
    assert len(watching) == 0
    assert len(list(islice(iter(watching), 2))) == 2
    assert len(watching) == 3


def test_the_command_converts_what_lands_and_ends_with_ctrl_c(
    environment: Environment, folder: Path, tmp_path: Path
) -> None:
    command = ("convert", "--watch", "--json", folder, "-o", folder / "anime")
    with interruptible(environment, *command) as process:
        assert process.stderr
        assert process.stdout
        assert process.stderr.readline() == f"animegan: watching {folder} (Ctrl-C ends)\n"
        (tmp_path / "a.jpg").write_bytes(picture("jpg", 60, 40))
        shutil.move(tmp_path / "a.jpg", folder / "a.jpg")
        first = json.loads(process.stdout.readline())
        assert (first["status"], first["output"]) == ("converted", str(folder / "anime" / "a.jpg"))
        assert size(folder / "anime" / "a.jpg") == (60, 40)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "animegan: 1 converted in " in err
    assert err.endswith("animegan: stopped by Ctrl-C\n")
    assert "Traceback" not in err


def test_a_folder_that_is_not_there_is_one_line(animegan: Run, tmp_path: Path) -> None:
    done = animegan("convert", "--watch", tmp_path / "no")
    assert (done.returncode, done.stderr) == (
        1,
        f"animegan: {tmp_path}/no is not there: make the folder first, then watch it\n",
    )
