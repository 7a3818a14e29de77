"""`animegan video` through ffmpeg, with clips whose frames, times and sound are known."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.video import containers, ffprobe
from infra.video.clip import Clip, Plan, even_size, nominal
from infra.video.convert import aside, convert
from infra.video.errors import VideoError
from infra.video.ffmpeg import Ffmpeg
from infra.video.painting import Painting
from tests.clips import Pixels, pan, read, save
from tests.infra.conftest import Environment, Run, interruptible, picture

pytestmark = pytest.mark.skipif(
    not (shutil.which("ffmpeg") and shutil.which("ffprobe")), reason="ffmpeg is not installed"
)
SINE = ("-f", "lavfi", "-i", "sine=frequency=440:duration={0}", "-map", "0:v", "-map", "1:a")
H264 = ("-c:v", "libx264", "-crf", "12", "-pix_fmt", "yuv420p")


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    """A second of 64×48 at ten frames a second, with AAC."""
    more = [part.format(1) for part in SINE]
    return save(tmp_path / "clip.mp4", pan(10, (64, 48)), 10, *more, *H264, "-c:a", "aac")


def ask(path: Path) -> dict[str, dict[str, Any]]:
    """ffprobe's streams by kind."""
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_format", "-i", str(path)]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {one["codec_type"]: one for one in said["streams"]} | {"format": said["format"]}


def levels(number: int, size: tuple[int, int] = (64, 48)) -> list[Pixels]:
    """Grey frames, each lighter than the last, so that their order and number can be read off."""
    return [np.full((size[1], size[0], 3), 20 + 20 * place, np.uint8) for place in range(number)]


def seen(frames: list[Pixels]) -> list[int]:
    """Which of `levels` the frames are."""
    return [round((float(frame.mean()) - 20) / 20) for frame in frames]


def through(source: Path, out: Path, **options: Any) -> Plan:
    """Convert with a brush that changes nothing."""
    engine = Ffmpeg()
    found = engine.probe(source)
    rate = options.pop("rate", found.rate)
    plan = Plan(source, found, even_size(found.size, options.pop("side", None), 1024), rate, **options)
    engine.prepare(plan, aside(out))
    convert(engine, plan, out, Painting(lambda frame: frame), lambda done, total: None)
    return plan


def test_every_frame_arrives_in_order_at_the_clip_s_rate_and_colours(tmp_path: Path) -> None:
    frames = levels(10)
    frames[3][:, :32] = (200, 30, 30)
    source = save(tmp_path / "in.mkv", frames, Fraction(30000, 1001), "-c:v", "ffv1", "-pix_fmt", "bgr0")
    plan = through(source, tmp_path / "out.mp4", crf=4)
    assert plan.rate == Fraction(30000, 1001)
    found = read(tmp_path / "out.mp4")
    assert seen(found[:3] + found[4:]) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert np.abs(found[3][8:40, 4:28].mean(axis=(0, 1)) - (200, 30, 30)).max() < 6
    said = ask(tmp_path / "out.mp4")["video"]
    assert (said["avg_frame_rate"], said["pix_fmt"], said["color_space"]) == ("30000/1001", "yuv420p", "bt709")


def test_sound_is_copied_bit_by_bit_where_the_container_takes_it(clip: Path, tmp_path: Path) -> None:
    through(clip, tmp_path / "out.mp4")
    dump = ["ffmpeg", "-v", "error", "-i", "{}", "-map", "0:a", "-c", "copy", "-f", "md5", "-"]
    sums = [
        subprocess.run([part.format(path) for part in dump], capture_output=True, check=True).stdout
        for path in (clip, tmp_path / "out.mp4")
    ]
    assert sums[0] == sums[1]
    assert ask(tmp_path / "out.mp4")["audio"]["codec_name"] == "aac"


def test_sound_that_the_container_cannot_hold_is_encoded_anew_and_said(clip: Path, tmp_path: Path) -> None:
    engine = Ffmpeg()
    plan = Plan(clip, engine.probe(clip), (64, 48), Fraction(10))
    assert engine.prepare(plan, aside(tmp_path / "out.webm")) == "encoded anew (aac)"
    through(clip, tmp_path / "out.webm")
    said = ask(tmp_path / "out.webm")
    assert said["audio"]["codec_name"] in ("opus", "vorbis")
    assert float(said["format"]["duration"]) == pytest.approx(1.0, abs=0.1)
    assert not list(tmp_path.glob(".animegan-*"))


@pytest.mark.parametrize(
    ("codec", "suffix", "told"),
    [
        ("pcm_s16le", ".mp4", "encoded anew"),
        ("pcm_s16le", ".mov", "copied"),
        ("vorbis", ".avi", "encoded anew"),
        ("vorbis", ".mkv", "copied"),
        ("mp3", ".mp4", "copied"),
    ],
)
def test_sound_is_copied_only_where_players_expect_it(tmp_path: Path, codec: str, suffix: str, told: str) -> None:
    encoder = {"mp3": "libmp3lame", "vorbis": "libvorbis"}.get(codec, codec)
    more = [part.format(0.3) for part in SINE]
    source = save(tmp_path / "in.mkv", levels(3), 10, *more, "-c:v", "ffv1", "-c:a", encoder)
    engine = Ffmpeg()
    plan = Plan(source, engine.probe(source), (64, 48), Fraction(10))
    assert engine.prepare(plan, aside(tmp_path / f"out{suffix}")) == f"{told} ({codec})"


def test_what_ffprobe_tells_of_unusual_clips(monkeypatch: pytest.MonkeyPatch) -> None:
    cover = {"codec_type": "video", "width": 500, "height": 500, "disposition": {"attached_pic": 1}}
    tape = {"codec_type": "video", "width": 720, "height": 576, "sample_aspect_ratio": "16:15"}
    tape |= {"field_order": "tt", "avg_frame_rate": "25/1", "r_frame_rate": "25/1"}
    phone = {"codec_type": "video", "width": 1920, "height": 1080, "color_transfer": "arib-std-b67"}
    phone |= {"side_data_list": [{}, {"rotation": -90}], "avg_frame_rate": "29870/1000", "r_frame_rate": "30/1"}

    def told(*streams: dict[str, Any], **container: str) -> Clip:
        monkeypatch.setattr(ffprobe, "_ask", lambda path: {"streams": list(streams), "format": container})
        return ffprobe.probe(Path("in.mp4"))

    old = told(cover, tape, duration="N/A")
    assert (old.size, old.rate, old.seconds, old.matrix) == ((768, 576), 25, None, "auto")
    assert old.filters == ("yadif=deint=interlaced",)
    new = told(phone, {"codec_type": "audio", "codec_name": "aac"}, duration="12.5")
    assert (new.size, new.rate, new.seconds, new.sound, new.matrix) == ((1080, 1920), 30, 12.5, "aac", "bt709")
    assert new.warnings == ("the clip is HDR (HLG), and its colours are not mapped: they will look pale",)
    with pytest.raises(VideoError, match=r"in\.mp4 is not a video: it has no moving pictures"):
        told(cover)


def test_a_clip_without_sound_and_one_whose_sound_is_not_wanted_have_none(clip: Path, tmp_path: Path) -> None:
    mute = save(tmp_path / "mute.mp4", levels(3), 10, *H264)
    through(mute, tmp_path / "a.mp4")
    through(clip, tmp_path / "b.mp4", keep_sound=False)
    assert "audio" not in ask(tmp_path / "a.mp4") | ask(tmp_path / "b.mp4")


def test_a_turned_clip_is_painted_upright(tmp_path: Path) -> None:
    frames = levels(3)
    for frame in frames:
        frame[:24] = 250  # the upper half is bright
    save(tmp_path / "flat.mp4", frames, 10, *H264)
    turn = ["-display_rotation", "90"] if "display_rotation" in _help() else []
    more = [] if turn else ["-metadata:s:v:0", "rotate=270"]
    command = ["ffmpeg", "-v", "error", *turn, "-i", str(tmp_path / "flat.mp4"), "-c", "copy", *more]
    subprocess.run([*command, str(tmp_path / "turned.mp4")], check=True)
    upright = read(tmp_path / "turned.mp4")[0]  # OpenCV turns by itself, with another copy of the library
    assert upright.shape == (64, 48, 3)
    assert Ffmpeg().probe(tmp_path / "turned.mp4").size == (48, 64)
    through(tmp_path / "turned.mp4", tmp_path / "out.mp4", crf=4)
    result = read(tmp_path / "out.mp4")[0]
    assert result.shape == (64, 48, 3)
    assert np.abs(result.astype(int) - upright).mean() < 4
    assert "side_data_list" not in ask(tmp_path / "out.mp4")["video"]


def _help() -> str:
    done = subprocess.run(["ffmpeg", "-v", "error", "-h", "long"], capture_output=True, text=True)
    return done.stdout


def test_a_variable_rate_becomes_constant_and_everything_stays_at_its_time(tmp_path: Path) -> None:
    # Frames 0 to 4 at 0, 0.1, 0.2, 0.6 and 0.7 s: a camera that paused.
    times = "if(lt(N,3),N,N+3)"
    source = save(
        tmp_path / "in.mkv", levels(5), 10, "-vf", f"setpts='{times}'", "-fps_mode", "vfr", "-c:v", "ffv1"
    )
    plan = through(source, tmp_path / "out.mp4", crf=4)
    assert plan.rate == 10
    assert seen(read(tmp_path / "out.mp4")) == [0, 1, 2, 2, 2, 2, 3, 4]


def test_a_frame_that_is_shown_again_is_painted_once(tmp_path: Path) -> None:
    calls: list[int] = []

    def brush(frame: Pixels) -> Pixels:
        calls.append(1)
        return frame

    one, two = levels(2)
    painting = Painting(brush)
    frames = list(painting.frames([one, one.copy(), two, two.copy(), one]))
    assert (len(calls), painting.repeated, seen(frames)) == (3, 2, [0, 0, 1, 1, 0])


def test_odd_sizes_become_even_and_pixels_square(tmp_path: Path) -> None:
    source = save(tmp_path / "odd.mkv", pan(2, (63, 41)), 10, "-c:v", "ffv1")
    through(source, tmp_path / "out.mp4")
    assert read(tmp_path / "out.mp4")[0].shape[:2] == (40, 62)
    wide = save(tmp_path / "wide.mp4", levels(2), 10, *H264, "-vf", "setsar=3/2")
    assert Ffmpeg().probe(wide).size == (96, 48)


@pytest.mark.parametrize(
    ("size", "wanted", "result"),
    [
        ((1920, 1080), None, (1024, 576)),
        ((640, 360), 1024, (640, 360)),
        ((1080, 1920), 333, (186, 332)),
        ((1, 1), None, (2, 2)),
    ],
)
def test_sizes_are_even_bounded_and_never_above_the_clip_s(
    size: tuple[int, int], wanted: int | None, result: tuple[int, int]
) -> None:
    assert even_size(size, wanted, 1024) == result


@pytest.mark.parametrize(
    ("average", "clock", "rate"),
    [
        ("25", "25", "25"),
        ("2987/100", "30", "30"),  # a phone that dropped frames
        ("30000/1001", "30000/1001", "30000/1001"),
        ("24", "90000", "24"),  # a clock's resolution is no rate
        ("0", "15", "15"),
        ("0", "0", "25"),
        ("1000", "1000", "240"),
    ],
)
def test_the_constant_rate_of_a_clip(average: str, clock: str, rate: str) -> None:
    assert nominal(Fraction(average), Fraction(clock)) == Fraction(rate)


def test_a_part_of_a_clip_at_another_rate(clip: Path, tmp_path: Path) -> None:
    source = save(tmp_path / "in.mkv", levels(10), 10, "-c:v", "ffv1")
    through(source, tmp_path / "out.mp4", start=0.3, duration=0.4, crf=4)
    assert seen(read(tmp_path / "out.mp4")) == [3, 4, 5, 6]
    through(clip, tmp_path / "five.mp4", rate=Fraction(5), start=0.2)
    said = ask(tmp_path / "five.mp4")
    assert said["video"]["nb_frames"] == "4"
    assert float(said["audio"]["duration"]) == pytest.approx(0.8, abs=0.1)


def test_no_place_or_name_of_the_clip_is_left_in_the_video(tmp_path: Path) -> None:
    more = ("-metadata", "title=Home", "-metadata", "location=+48.2-016.3/", "-movflags", "use_metadata_tags")
    source = save(tmp_path / "in.mp4", levels(2), 10, *H264, *more)
    assert ask(source)["format"]["tags"]["title"] == "Home"
    through(source, tmp_path / "out.mp4")
    assert not {"title", "location"} & ask(tmp_path / "out.mp4")["format"].get("tags", {}).keys()


@pytest.mark.parametrize(("pipe", "doing"), [("pipe:0", "writing"), ("pipe:1", "reading")])
def test_an_ffmpeg_that_is_killed_is_named_and_nothing_is_left(tmp_path: Path, pipe: str, doing: str) -> None:
    clip = save(tmp_path / "clip.mp4", pan(20, (128, 96)), 10, *H264)
    out = tmp_path / "out.mp4"
    engine = Ffmpeg()
    plan = Plan(clip, engine.probe(clip), (128, 96), Fraction(10))
    engine.prepare(plan, aside(out))

    def brush(frame: Pixels) -> Pixels:
        for pid in _children():
            if pipe in Path(f"/proc/{pid}/cmdline").read_text():
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
        return frame

    with pytest.raises(VideoError, match=rf"ffmpeg was killed by signal 9 while {doing} the video; nothing"):
        convert(engine, plan, out, Painting(brush), lambda done, total: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clip.mp4"]


def _children() -> list[int]:
    path = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if not path.exists():
        pytest.skip("this system does not tell a process's children")
    return [int(pid) for pid in path.read_text().split()]


def test_a_clip_that_breaks_off_is_painted_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = save(tmp_path / "whole.mkv", pan(10, (64, 48), noise=8), 10, "-c:v", "ffv1")
    torn = tmp_path / "torn.mkv"
    torn.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    through(torn, tmp_path / "out.mp4")
    assert 2 <= len(read(tmp_path / "out.mp4")) < 10


def test_a_clip_that_breaks_off_is_said_to(animegan: Run, tmp_path: Path) -> None:
    whole = save(tmp_path / "whole.mkv", pan(40, (64, 48), noise=8), 10, "-c:v", "ffv1")
    torn = tmp_path / "torn.mkv"
    torn.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    told = "of about 40: the clip is cut off or damaged; the rest was painted"
    for source, lines in ((torn, 1), (whole, 0)):
        done = animegan("video", source, tmp_path / "out.mp4", "--json", "--size", 16, "--force")
        assert done.returncode == 0, done.stderr
        assert done.stderr.count(told) == lines
        assert [told in warning for warning in json.loads(done.stdout)["warnings"]] == [True] * lines


def test_the_picture_s_own_length_counts_where_the_sound_is_longer(tmp_path: Path) -> None:
    more = [part.format(3) for part in SINE]
    source = save(tmp_path / "in.mkv", levels(10), 10, *more, "-c:v", "ffv1", "-c:a", "flac")
    assert float(ask(source)["format"]["duration"]) == pytest.approx(3, abs=0.1)
    assert Ffmpeg().probe(source).seconds == pytest.approx(1, abs=0.01)


def test_a_place_that_cannot_be_written_to_is_not_laid_to_the_sound(clip: Path, tmp_path: Path) -> None:
    engine = Ffmpeg()
    plan = Plan(clip, engine.probe(clip), (64, 48), Fraction(10))
    with pytest.raises(VideoError, match=r"gone cannot be written to: No such file or directory"):
        engine.prepare(plan, tmp_path / "gone" / ".part.mp4")
    part = aside(tmp_path / "out.mp4")
    if Path("/dev/full").exists():
        part.symlink_to("/dev/full")
        with pytest.raises(VideoError, match=r"cannot be written to: No space left on device"):
            engine.prepare(plan, part)
    assert not os.path.lexists(part)


def test_the_command_paints_with_the_real_generator_and_measures(
    animegan: Run, clip: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.mp4"
    done = animegan("video", clip, out, "--json", "--steady", "--size", 40)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["width"], said["height"], said["frames"], said["fps"]) == (40, 30, 10, 10.0)
    assert (said["engine"], said["sound"], said["source"]) == ("ffmpeg", "copied (aac)", str(clip))
    assert {"clip", "painted", "steadied", "pairs", "ratio"} <= said["flicker"].keys()
    assert said["flicker"]["pairs"] == 9
    assert read(out)[0].shape == (30, 40, 3)
    assert f"{clip} -> {out} (40×30, 10 frames, " in done.stderr
    assert "animegan: sound: copied (aac); flicker: " in done.stderr
    again = animegan("video", clip, out)
    assert (again.returncode, again.stderr) == (1, f"animegan: {out} is there already: --force replaces it\n")


def test_what_cannot_be_done_is_one_line_before_any_work(animegan: Run, clip: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.mp4").write_text("no video")
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=d=0.1", str(tmp_path / "sound.wav")], check=True
    )
    for name in ("photo.jpg", "photo.mp4"):
        (tmp_path / name).write_bytes(picture())
    out = tmp_path / "out.mp4"
    for arguments, why in (
        ((tmp_path / "none.mp4", out), "none.mp4: no such file"),
        ((tmp_path, out), "is not a file: give one video"),
        ((tmp_path / "notes.mp4", out), "is not a video that ffmpeg can read: Invalid data"),
        ((tmp_path / "sound.wav", out), "is not a video: it has no moving pictures"),
        ((tmp_path / "photo.jpg", out), "photo.jpg is a picture, and no video: `animegan convert`"),
        ((tmp_path / "photo.mp4", out), "photo.mp4 is a picture, and no video: `animegan convert`"),
        ((clip, tmp_path / "out.txt"), "name the video with one of .mp4"),
        ((clip, tmp_path / "no" / "out.mp4"), "is no folder to write out.mp4 to"),
        ((clip, clip, "--force"), "is the clip itself"),
        ((clip, out, "--start", "7"), "--start 7 is past the end of the clip, which has 1.0 s"),
        ((clip, out, "--fps", "0.1"), "or is too short for 0.1 frames a second"),
        ((clip, out, "--style", "paprika"), "run `animegan pull paprika`"),
    ):
        done = animegan("video", *arguments)
        assert done.returncode == 1, arguments
        assert why in done.stderr
        assert "Traceback" not in done.stderr
        assert not out.exists()
    assert not list(tmp_path.glob(".animegan-*"))


@pytest.mark.parametrize("suffix", [".avi", ".mkv"])  # ffmpeg calls the second a success
def test_a_disk_that_is_full_is_named_and_leaves_the_old_video(tmp_path: Path, suffix: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    source = save(tmp_path / "in.mkv", pan(3, (64, 48)), 10, "-c:v", "ffv1")
    out = tmp_path / f"out{suffix}"
    out.write_bytes(b"the old one")
    aside(out).symlink_to("/dev/full")
    with pytest.raises(VideoError, match=r"while writing .*No space left on device; nothing was written"):
        through(source, out)
    assert out.read_bytes() == b"the old one"
    assert not os.path.lexists(aside(out))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_sigterm_and_a_closed_terminal_leave_nothing_half(
    environment: Environment, tmp_path: Path, how: signal.Signals
) -> None:
    source = save(tmp_path / "in.mkv", pan(60, (640, 480)), 10, "-c:v", "ffv1")
    out = tmp_path / "out.mp4"
    with interruptible(environment, "video", source, out) as process:
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob(".animegan-*.mp4")):
            assert process.poll() is None, "it ended too early"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith(f"animegan: stopped; {out} was not written\n")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != "") == ["in.mkv"]


def test_a_container_whose_codecs_are_missing_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "encoders", lambda: frozenset({"mpeg4"}))
    assert containers.picture_options(".mp4", 20)[:2] == ("-c:v", "mpeg4")
    with pytest.raises(VideoError, match=r"cannot write \.webm: it has none of libvpx-vp9, libvpx"):
        containers.picture_options(".webm", None)


@pytest.mark.parametrize(
    ("option", "why"), [("--fps", "abc is no rate"), ("--start", "abc is no number of seconds")]
)
def test_what_is_no_number_is_said_in_words(
    animegan: Run, clip: Path, tmp_path: Path, option: str, why: str
) -> None:
    done = animegan("video", clip, tmp_path / "out.mp4", option, "abc")
    assert done.returncode == 2
    assert done.stderr.endswith(f"{why}\n")
