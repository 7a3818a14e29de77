"""`animegan video` where ffmpeg is missing, and OpenCV does what it can."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from infra.video.clip import Plan
from infra.video.convert import aside, convert
from infra.video.errors import VideoError
from infra.video.opencv import OpenCv, constant
from infra.video.painting import Painting
from tests.clips import Pixels, pan, read, save_with_opencv
from tests.infra.conftest import Run


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return save_with_opencv(tmp_path / "clip.avi", pan(8, (64, 48)), 12.5)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".webm", ".avi"])
def test_every_container_is_written_with_every_frame(clip: Path, tmp_path: Path, suffix: str) -> None:
    engine, out = OpenCv(), tmp_path / f"out{suffix}"
    found = engine.probe(clip)
    assert (found.size, found.rate) == ((64, 48), Fraction(25, 2))
    plan = Plan(clip, found, (64, 48), found.rate)
    assert engine.prepare(plan, aside(out)) == "left out: OpenCV has none; install ffmpeg to keep it"
    assert convert(engine, plan, out, Painting(lambda frame: frame), lambda done, total: None) == 8
    frames, source = read(out), read(clip)
    assert len(frames) == 8
    assert max(np.abs(a.astype(int) - b).mean() for a, b in zip(frames, source, strict=True)) < 9
    assert not list(tmp_path.glob(".animegan-*"))


def test_a_part_at_another_size_and_rate(clip: Path, tmp_path: Path) -> None:
    engine = OpenCv()
    plan = Plan(clip, engine.probe(clip), (32, 24), Fraction(25), start=0.16, duration=0.32)
    with engine.read(plan) as frames:
        shapes = [frame.shape for frame in frames]
    assert set(shapes) == {(24, 32, 3)}
    assert len(shapes) in (7, 8)  # four frames, shown twice; of the last it is not known for how long
    assert plan.frames == 8


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        ((0.0, 0.1, 0.2), "012"),
        ((0.0, 0.1, 0.4, 0.5), "011123"),
        ((0.0, 0.02, 0.1), "12"),  # too close to be shown both
        ((0.0,), "0"),
        ((), ""),
    ],
)
def test_frames_at_any_times_become_a_constant_rate(times: tuple[float, ...], shown: str) -> None:
    def frames() -> Iterator[tuple[float, Pixels]]:
        for place, seconds in enumerate(times):
            yield seconds, np.full((1, 1, 3), place, np.uint8)

    assert "".join(str(int(frame[0, 0, 0])) for frame in constant(frames(), Fraction(10))) == shown


def test_without_ffmpeg_the_command_says_that_sound_is_lost(animegan: Run, clip: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mp4"
    done = animegan("video", clip, out, "--json", "--crf", 20, env={"PATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "warning: ffmpeg is not installed, so the video will have no sound" in done.stderr
    assert "warning: --crf needs ffmpeg, and is ignored" in done.stderr
    said = json.loads(done.stdout)
    assert (said["engine"], said["frames"]) == ("OpenCV", 8)
    assert said["sound"].startswith("left out: OpenCV has none")
    assert len(read(out)) == 8


def test_what_is_no_video_is_one_line(animegan: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.mp4").write_text("no video")
    done = animegan("video", tmp_path / "notes.mp4", tmp_path / "out.mp4", env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"animegan: {tmp_path}/notes.mp4 is not a video that OpenCV can read; with ffmpeg installed more can be"
    ]


def test_a_clip_from_whose_start_nothing_is_left_is_refused(clip: Path, tmp_path: Path) -> None:
    engine = OpenCv()
    plan = Plan(clip, engine.probe(clip), (64, 48), Fraction(10), start=5.0)
    with pytest.raises(VideoError, match=r"has no frame at 5 s or later"):
        convert(engine, plan, tmp_path / "out.mp4", Painting(lambda frame: frame), lambda done, total: None)
    assert not (tmp_path / "out.mp4").exists()
