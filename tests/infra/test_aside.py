"""What killed processes leave is removed, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infra import aside as asides
from infra.aside import aside, clear

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")

WRITE = "import sys, time; from pathlib import Path; from infra.aside import aside\n"
WRITE += "aside(Path(sys.argv[1]), '.mp4').touch(); print(flush=True); time.sleep(60)"


def writer(folder: Path) -> subprocess.Popen[bytes]:
    """A process that has begun to write in the folder."""
    process = subprocess.Popen([sys.executable, "-c", WRITE, folder / "out.mp4"], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    return process


def looked(folder: Path) -> list[str]:
    clear.cache_clear()  # as in another process
    clear(folder)
    return sorted(os.listdir(folder))


def test_what_a_process_writes_stays_until_it_was_killed(tmp_path: Path) -> None:
    with writer(tmp_path) as process:
        (name,) = looked(tmp_path)
        process.kill()
        deadline = time.monotonic() + 10
        while looked(tmp_path) and time.monotonic() < deadline:  # although nobody has waited for it
            time.sleep(0.01)
    assert name.endswith(".part.mp4")
    assert os.listdir(tmp_path) == []


def test_a_later_process_of_the_same_number_is_not_taken_for_the_writer(tmp_path: Path) -> None:
    ours = aside(tmp_path / "a.jpg")
    head, _, _ = ours.name.rpartition("-")
    (tmp_path / f"{head}-1.part").touch()  # this very number, begun just after boot
    ours.touch()
    assert looked(tmp_path) == [ours.name]


def test_in_doubt_everything_is_left(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    here = aside(tmp_path / "a.jpg").name.split("-")[1]
    names = [
        f".animegan-{gone.pid}.part",  # of an older version
        f".animegan-{'0123456789ab'}-{gone.pid}-5.part",  # of another machine
        f".animegan-{asides.UNKNOWN}-{gone.pid}-5.part",  # of who knows where
        f".animegan-{here}-{gone.pid}-{asides.UNKNOWN}.part",
        f".animegan-{here}-{gone.pid}-5.part.tar.gz",
        f"my.animegan-{here}-{gone.pid}-5.part",
    ]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / f".animegan-{here}-{gone.pid}-6.part").mkdir()
    assert looked(tmp_path) == sorted([*names, f".animegan-{here}-{gone.pid}-6.part"])
    (tmp_path / f".animegan-{here}-{gone.pid}-5.part").touch()
    assert looked(tmp_path) == sorted([*names, f".animegan-{here}-{gone.pid}-6.part"])


def test_a_folder_that_is_not_there_is_nothing_to_clear(tmp_path: Path) -> None:
    clear(tmp_path / "none")
    assert os.listdir(tmp_path) == []
