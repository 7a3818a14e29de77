from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from handler import __version__
from tests.infra.conftest import CLI, EVENTS, Environment, Run, interruptible, picture, size

HEAVY = ("torch", "cv2", "handler.main", "rich", "uvicorn", "pydantic", "boto3")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    (tmp_path / "photos" / "sub folder").mkdir(parents=True)
    (tmp_path / "photos" / "a.jpg").write_bytes(picture("jpg", 160, 120))
    (tmp_path / "photos" / "sub folder" / "-é.png").write_bytes(picture("png", 50, 70))
    return tmp_path / "photos"


def test_help_and_the_list_of_styles_load_nothing_heavy(environment: Environment) -> None:
    for arguments, allowed in ((["--help"], ()), (["convert", "--help"], ()), (["styles"], ("pydantic",))):
        code = (
            "import sys; from infra.cli import main\n"
            "try: main(sys.argv[1:])\n"
            "except SystemExit: pass\n"
            f"print(*(set({HEAVY}) - set({allowed})) & set(sys.modules), file=sys.stderr)"
        )
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stderr.strip() == ""
        assert done.stdout


def test_version_and_wrong_usage(animegan: Run) -> None:
    assert animegan("--version").stdout == f"animegan {__version__}\n"
    for wrong in ([], ["paint"], ["convert"], ["convert", "a.jpg", "--size", "0"], ["serve", "--port", "65536"]):
        done = animegan(*wrong)
        assert done.returncode == 2
        assert "usage: animegan" in done.stderr


def test_convert_goes_through_the_real_function_and_tells_what_it_did(animegan: Run, photos: Path) -> None:
    (photos / "torn.jpg").write_bytes(picture("jpg")[:300])
    done = animegan("convert", photos, "-o", photos / "out", "--size", 64, "--log", photos / "log")
    assert done.returncode == 1
    assert done.stdout == ""
    assert f"{photos}/a.jpg -> {photos}/out/a.jpg (64×48, " in done.stderr
    assert f"{photos}/torn.jpg: failed: " in done.stderr
    assert "[corrupt_image]" in done.stderr
    assert re.search(r"\nanimegan: 2 converted, 1 failed in [\d.]+ s \([\d.]+/(s|min)\)\n$", done.stderr)
    assert len(done.stderr.splitlines()) == 4  # and nothing of libjpeg's
    assert size(photos / "out" / "a.jpg") == (64, 48)
    assert size(photos / "out" / "sub folder" / "-é.png") == (46, 64)
    lines = (photos / "log").read_text().splitlines()
    emf = [json.loads(line) for line in lines if line.startswith("{")]
    assert [line["event"] for line in emf] == ["init", "conversion", "conversion", "conversion"]
    assert sum(line.startswith("REPORT RequestId: ") for line in lines) == 3


def test_convert_prints_json_lines_and_skips_what_is_there(animegan: Run, photos: Path) -> None:
    first = animegan("convert", "--json", "--format", "jpg", "--side-by-side", photos)
    assert first.returncode == 0
    said = [json.loads(line) for line in first.stdout.splitlines()]
    assert [(Path(line["output"]).name, line["width"], line["height"]) for line in said] == [
        ("a.anime.jpg", 320, 120),
        ("-é.anime.jpg", 100, 70),
    ]
    assert {"decode", "preprocess", "inference", "postprocess", "encode", "total"} <= said[0]["timings"].keys()
    before = (photos / "a.anime.jpg").stat().st_mtime_ns
    again = animegan("convert", "--json", "--format", "jpg", photos)
    assert again.returncode == 0
    assert [json.loads(line)["status"] for line in again.stdout.splitlines()] == ["skipped", "skipped"]
    assert "2 skipped; left: 2 already a result" in again.stderr
    assert (photos / "a.anime.jpg").stat().st_mtime_ns == before


def test_a_size_above_the_function_s_default_limit_needs_no_setting(animegan: Run, photos: Path) -> None:
    (photos / "flat.jpg").write_bytes(picture("jpg", 200, 4))
    done = animegan("convert", photos / "flat.jpg", "--size", 1100, "--upscale", "--format", "png")
    assert done.returncode == 0, done.stderr
    assert size(photos / "flat.anime.png") == (1100, 22)


def test_a_folder_without_photos_is_said_and_is_a_wrong_input(animegan: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("text")
    done = animegan("convert", tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "animegan: no photo found to convert; left: 1 not a picture\n",
    )


def test_an_unknown_option_is_told_with_the_command_s_usage_and_the_nearest(animegan: Run) -> None:
    done = animegan("convert", "a.jpg", "--sidebyside", "--zzz")
    assert done.returncode == 2
    assert done.stderr.startswith("usage: animegan convert ")
    assert done.stderr.endswith("unrecognized arguments: --sidebyside --zzz; did you mean --side-by-side?\n")


def test_an_output_that_is_no_folder_is_refused(animegan: Run, photos: Path) -> None:
    done = animegan("convert", photos / "a.jpg", "-o", photos / "b.jpg")
    assert done.returncode == 1
    assert done.stderr.startswith("animegan: -o takes a folder, ")


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (("--style", "paprica"), {}, "animegan: no style is called 'paprica': did you mean paprika? "),
        (("--style", "paprika"), {}, "run `animegan pull paprika`"),
        ((), {"MAX_SIDE": "many"}, "animegan: wrong environment: MAX_SIDE="),
        (("--log", "/nowhere/at/all"), {}, "animegan: /nowhere/at/all: No such file or directory"),
    ],
)
def test_what_cannot_begin_is_one_line(
    animegan: Run, photos: Path, arguments: tuple[str, ...], variables: Environment, message: str
) -> None:
    done = animegan("convert", photos / "a.jpg", *arguments, env=variables)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    debugged = animegan("convert", photos / "a.jpg", *arguments, "--debug", env=variables)
    assert "Traceback" in debugged.stderr


def test_a_damaged_style_is_one_line(animegan: Run, photos: Path, tmp_path: Path) -> None:
    (tmp_path / "styles" / "cel").mkdir(parents=True)
    (tmp_path / "styles" / "cel" / "manifest.json").write_text("{}")
    done = animegan("convert", photos / "a.jpg", env={"STYLES_DIR": str(tmp_path / "styles")})
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("animegan: ")
    assert "manifest" in done.stderr
    assert "Traceback" not in done.stderr


def test_kill_9_in_the_middle_leaves_only_whole_pictures(environment: Environment, photos: Path) -> None:
    for number in range(20):
        (photos / f"b{number:02}.jpg").write_bytes(picture("jpg", 300 + number, 200))  # none of them cached
    process = subprocess.Popen([*CLI, "convert", photos, "-o", photos / "out"], env=environment)
    _wait_for(photos / "out" / "b01.jpg", process)
    process.kill()
    process.wait()
    left = [path for path in (photos / "out").rglob("*") if path.suffix == ".jpg"]
    assert 2 <= len(left) < 21
    assert all(size(path) in {(160, 120), *((300 + number, 200) for number in range(20))} for path in left)


def test_ctrl_c_ends_at_once_with_what_was_done(environment: Environment, photos: Path) -> None:
    for number in range(20):
        (photos / f"b{number:02}.jpg").write_bytes(picture("jpg", 600 + number, 400))
    with interruptible(environment, "convert", "--json", photos) as process:
        _wait_for(photos / "b00.anime.jpg", process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(r"animegan: \d+ converted in .*\nanimegan: stopped by Ctrl-C\n", err)
    done = [json.loads(line)["output"] for line in out.splitlines()]
    assert len(done) >= 1
    assert all(size(Path(path)) for path in done)
    assert not list(photos.rglob("*.part"))


def test_a_reader_of_stdout_that_has_gone_is_met_in_silence(environment: Environment) -> None:
    theirs, ours = os.pipe()
    os.close(theirs)
    done = subprocess.run([*CLI, "styles"], env=environment, stdout=ours, stderr=subprocess.PIPE, text=True)
    os.close(ours)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_terminal_gets_a_progress_bar_and_stdout_stays_data(environment: Environment, photos: Path) -> None:
    terminal, theirs = pty.openpty()
    variables = {**environment, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [*CLI, "convert", "--json", photos], env=variables, stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    os.close(theirs)
    seen = _drain(terminal)
    out, _ = process.communicate(timeout=60)
    assert "converting" in seen
    assert "0/2" in seen
    assert re.search(r"[\d.]+/(s|min), \d:\d\d left", seen)
    assert "animegan: 2 converted" in seen
    assert len([json.loads(line) for line in out.splitlines()]) == 2


def test_every_ready_event_is_answered(animegan: Run) -> None:
    names = ("http_v2", "http_v1", "alb", "function_url", "health", "warmup", "scheduled")
    assert sorted(path.stem for path in EVENTS.glob("*.json") if not path.stem.startswith("s3_")) == sorted(names)
    done = animegan("invoke", *(EVENTS / f"{name}.json" for name in names))
    assert done.returncode == 0, done.stderr
    v2, v1, alb, url, health, *warm = map(json.loads, done.stdout.splitlines())
    assert [answer["statusCode"] for answer in (v2, v1, alb, url, health)] == [200] * 5
    assert [answer["isBase64Encoded"] for answer in (v2, v1, alb, url, health)] == [True, True, True, False, False]
    assert json.loads(url["body"])["width"] == 192
    assert json.loads(health["body"])["version"] == __version__
    assert warm == [{"warm": True, "version": __version__}] * 2
    assert done.stderr.count("\tInit Duration: ") == 1
    assert done.stderr.count("REPORT RequestId: ") == 7


def test_invoke_reads_stdin_repeats_and_saves_the_picture(animegan: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    event = (EVENTS / "http_v2.json").read_text()
    done = animegan("invoke", "-", "--repeat", 2, "--out", out, "--memory", 3538, input=event)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert size(out) == (96, 64)
    assert done.stderr.count("Memory Size: 3538 MB") == 2
    emf = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert [line.get("cold_start") for line in emf] == [None, True, False]


def test_invoke_fails_on_an_unknown_event_and_on_an_http_error(animegan: Run, tmp_path: Path) -> None:
    event = json.loads((EVENTS / "http_v2.json").read_text())
    (tmp_path / "bad.json").write_text(json.dumps({**event, "body": "bm8gcGhvdG8="}))
    (tmp_path / "odd.json").write_text('{"Records": "none"}')
    done = animegan("invoke", tmp_path / "bad.json", tmp_path / "odd.json")
    assert done.returncode == 1
    problem, error = map(json.loads, done.stdout.splitlines())
    assert problem["statusCode"] == 415
    assert json.loads(problem["body"])["code"] == "unsupported_format"
    assert set(error) == {"errorType", "errorMessage", "requestId"}
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "is no event: not JSON"), (b"\xff", "is no event: not JSON"), (None, "No such file or directory")],
)
def test_a_file_without_an_event_is_one_line(
    animegan: Run, tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "event.json").write_bytes(content)
    done = animegan("invoke", tmp_path / "event.json")
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_command_whose_output_is_closed_does_its_work_all_the_same() -> None:
    closed = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *CLI, "styles"]
    assert subprocess.run(closed, check=False).returncode == 0


def _wait_for(path: Path, process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.02)


def _drain(terminal: int) -> str:
    seen = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux's way to say that the other end is closed
            chunk = b""
        if not chunk:
            os.close(terminal)
            return seen.decode(errors="replace")
        seen += chunk
