from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.outputs import Taken, Targets, own_format, write
from infra.photos import Photo, find
from tests.infra.conftest import picture


@pytest.fixture
def photos(tmp_path: Path) -> Callable[..., list[Photo]]:
    def make(*names: str) -> list[Photo]:
        for name in names:
            path = tmp_path / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture(path.suffix[1:]))
        return find([tmp_path / "in"], None).photos

    return make


def claimed(photos: list[Photo], out: Path | None = None, format: str | None = None) -> list[str]:
    targets = Targets(photos, out, format)
    return [os.path.relpath(targets.claim(photo), out or photo.path.parent) for photo in photos]


def test_a_picture_lies_beside_its_photo_by_default(photos: Callable[..., list[Photo]]) -> None:
    assert claimed(photos("a.jpeg", "b.c.png", "d.gif", "e.tiff")) == [
        "a.anime.jpg",
        "b.c.anime.png",
        "d.anime.png",
        "e.anime.png",
    ]


def test_below_an_output_folder_subfolders_and_names_are_kept(
    photos: Callable[..., list[Photo]], tmp_path: Path
) -> None:
    assert claimed(photos("a.jpg", "x/y/a.jpg"), tmp_path / "out", "webp") == ["a.webp", "x/y/a.webp"]


def test_photos_that_differ_in_their_extension_alone_keep_it(
    photos: Callable[..., list[Photo]], tmp_path: Path
) -> None:
    found = photos("a.gif", "a.png", "a.jpg", "b.png")
    assert claimed(found) == ["a.gif.anime.png", "a.anime.jpg", "a.png.anime.png", "b.anime.png"]
    assert claimed(found, tmp_path / "out") == ["a.gif.png", "a.jpg", "a.png.png", "b.png"]


def test_photos_of_one_name_in_two_folders_do_not_overwrite_each_other(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.jpg").write_bytes(picture())
    found = find([tmp_path / "one", tmp_path / "two"], tmp_path / "out").photos
    targets = Targets(found, tmp_path / "out", None)
    names = [targets.claim(photo).name for photo in found if photo.path.parent.name == "one"]
    assert names == ["a.jpg.jpg"]
    with pytest.raises(Taken, match=r"is the name for .*one/a.jpg already"):
        targets.claim(found[1])


def test_a_photo_is_never_a_target_not_even_through_a_link(
    photos: Callable[..., list[Photo]], tmp_path: Path
) -> None:
    found = photos("a.jpg")
    (tmp_path / "link").symlink_to("in")
    for out in (tmp_path / "in", tmp_path / "link"):
        with pytest.raises(Taken, match="would replace the photo"):
            Targets(found, out, None).claim(found[0])


def test_the_own_format_is_read_from_the_content() -> None:
    assert [own_format(picture(name)) for name in ("jpg", "png", "webp", "gif", "tiff", "bmp")] == [
        "jpeg",
        "png",
        "webp",
        "png",
        "png",
        "png",
    ]
    assert own_format(b"") == "png"


def test_writing_makes_folders_keeps_the_umask_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "x" / "y" / ("n" * 251 + ".jpg")  # as long as a name may be
    before = os.umask(0o027)
    try:
        write(target, b"data")
    finally:
        os.umask(before)
    assert target.read_bytes() == b"data"
    assert target.stat().st_mode & 0o777 == 0o640
    assert os.listdir(target.parent) == [target.name]


def test_a_failed_write_leaves_the_old_picture_and_no_part(tmp_path: Path) -> None:
    (tmp_path / "taken.jpg").mkdir()
    with pytest.raises(OSError, match=r".") as raised:
        write(tmp_path / "taken.jpg", b"data")
    assert isinstance(raised.value, IsADirectoryError)
    assert os.listdir(tmp_path) == ["taken.jpg"]


def test_kill_9_in_the_middle_of_writing_leaves_a_whole_picture(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    endless = (
        "import sys; from pathlib import Path; from infra.outputs import write\n"
        "while True:\n"
        "    for letter in b'ab': write(Path(sys.argv[1]), bytes([letter]) * 20_000_000)"
    )
    for pause in (0.05, 0.13, 0.21):
        writer = subprocess.Popen([sys.executable, "-c", endless, target])
        while not target.exists():
            time.sleep(0.01)
        time.sleep(pause)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        content = target.read_bytes()
        assert len(content) == 20_000_000
        assert content.count(content[:1]) == len(content)
    assert not find([tmp_path], None).photos  # a part that was left is no photo
