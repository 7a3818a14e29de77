from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra.errors import BadRequest
from infra.photos import Found, find
from tests.infra.conftest import picture

JPEG = picture("jpg")


def put(path: Path, data: bytes = JPEG) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def relative(found: Found) -> list[str]:
    return [str(photo.relative) for photo in found.photos]


def test_a_folder_is_searched_through_in_a_stable_order_and_its_subfolders_are_kept(tmp_path: Path) -> None:
    for name in ("b.jpg", "a.JPG", "z/c.png", "y/deep/d.webp"):
        put(tmp_path / name)
    assert relative(find([tmp_path], None)) == ["a.JPG", "b.jpg", "y/deep/d.webp", "z/c.png"]


def test_files_that_neither_look_nor_are_called_like_pictures_are_counted_and_left(tmp_path: Path) -> None:
    put(tmp_path / "notes.txt", b"BM and then text")
    put(tmp_path / "raw.nef", b"II*\x00rest")
    put(tmp_path / "sound.wav", b"RIFF\x00\x00\x00\x00WAVE")
    put(tmp_path / "empty", b"")
    put(tmp_path / ".hidden.jpg")
    put(tmp_path / ".thumbnails" / "t.jpg")
    put(tmp_path / "no extension")
    put(tmp_path / "wrong.jpg", b"text")
    found = find([tmp_path], None)
    assert relative(found) == ["no extension", "wrong.jpg"]
    assert found.left == {"not a picture": 4, "hidden": 1}
    assert not found.bad


def test_our_own_results_are_left_in_folders_and_taken_when_named(tmp_path: Path) -> None:
    result = put(tmp_path / "a.anime.jpg")
    put(tmp_path / "b.ANIME.PNG")
    put(tmp_path / "c.anime.gif")  # not a format that we write
    assert relative(find([tmp_path], None)) == ["c.anime.gif"]
    assert relative(find([result], None)) == ["a.anime.jpg"]


def test_results_that_a_wildcard_names_beside_their_photos_are_left(tmp_path: Path) -> None:
    names = ("a.jpg", "a.anime.jpg", "b.gif", "b.gif.anime.png", "c.anime.jpg")
    found = find([put(tmp_path / name) for name in names], None)
    assert relative(found) == ["a.jpg", "b.gif", "c.anime.jpg"]
    assert found.left == {"already a result": 2}


def test_a_file_that_is_named_is_tried_whatever_it_looks_like(tmp_path: Path) -> None:
    assert relative(find([put(tmp_path / "notes.txt", b"text")], None)) == ["notes.txt"]


def test_the_output_folder_is_not_searched(tmp_path: Path) -> None:
    put(tmp_path / "a.jpg")
    put(tmp_path / "sub" / "out" / "b.jpg")
    assert relative(find([tmp_path], tmp_path / "sub" / "out")) == ["a.jpg"]


def test_an_output_folder_that_is_the_searched_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(BadRequest, match="both searched for photos and to be written to"):
        find([tmp_path], tmp_path / "link")


def test_a_photo_reached_twice_is_converted_once(tmp_path: Path) -> None:
    photo = put(tmp_path / "a.jpg")
    assert relative(find([photo, tmp_path, tmp_path / "." / "a.jpg"], None)) == ["a.jpg"]


def test_loops_of_links_end(tmp_path: Path) -> None:
    put(tmp_path / "sub" / "a.jpg")
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    (tmp_path / "self.jpg").symlink_to("self.jpg")
    found = find([tmp_path], None)
    assert relative(found) == ["sub/a.jpg"]
    assert found.bad == [(tmp_path / "self.jpg", "Too many levels of symbolic links")]


def test_links_to_photos_are_photos_and_broken_ones_are_named(tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.jpg")
    (tmp_path / "in" / "b.jpg").symlink_to("a.jpg")
    (tmp_path / "in" / "gone.jpg").symlink_to("nowhere.jpg")
    (tmp_path / "link").symlink_to("in")
    found = find([tmp_path / "link"], None)
    assert relative(found) == ["a.jpg", "b.jpg"]
    assert found.bad == [(tmp_path / "link" / "gone.jpg", "No such file or directory")]


def test_pipes_and_devices_are_refused_without_being_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    os.mkfifo(tmp_path / "pipe")
    found = find([tmp_path / "pipe.jpg", Path("/dev/zero")], None)
    assert [why for _, why in found.bad] == ["not a regular file"] * 2
    found = find([tmp_path], None)
    assert found.left == {"not a regular file": 1, "not a picture": 1}


def test_what_is_missing_is_named_with_the_reason(tmp_path: Path) -> None:
    found = find([tmp_path / "no.jpg", Path("nul\0.jpg")], None)
    assert found.bad == [
        (tmp_path / "no.jpg", "No such file or directory"),
        (Path("nul\0.jpg"), "not a file name"),
    ]


@pytest.mark.parametrize(
    ("mode", "named"), [(0o000, "closed"), (0o400, "closed/a.jpg")], ids=["not to be listed", "not to be entered"]
)
def test_a_folder_without_permission_is_named(tmp_path: Path, mode: int, named: str) -> None:
    photo = put(tmp_path / "closed" / "a.jpg")
    (tmp_path / "closed").chmod(mode)
    try:
        if os.path.exists(photo):
            pytest.skip("this user may read everything")
        assert find([tmp_path], None).bad == [(tmp_path / named, "Permission denied")]
        assert find([photo], None).bad == [(photo, "Permission denied")]
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_odd_names_are_found(tmp_path: Path) -> None:
    names = ["-rf.jpg", "a b.jpg", "line\nbreak.jpg", "é😀.jpg", os.fsdecode(b"\xff\xfe.jpg")]
    for name in names:
        put(tmp_path / name)
    assert sorted(relative(find([tmp_path], None))) == sorted(names)
