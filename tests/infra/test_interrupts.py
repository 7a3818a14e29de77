"""Ctrl-C in processes of their own: first small ones, which say where they are, then commands at any moment."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.infra.conftest import CLI, EVENTS, ROOT, Environment, heed_ctrl_c, interruptible, picture, size

SEED = 20261130  # of the moments, which the tests' names show
STOPPED = r"animegan: (?:\d+ converted in .*|nothing done)\nanimegan: stopped by Ctrl-C\n"
COMMANDS = {
    "convert": (("convert", "--json", "photos"), STOPPED),
    "watch": (("convert", "--json", "--watch", "photos"), rf"(?:animegan: watching .*\n(?:{STOPPED})?)?"),
    "invoke": (("invoke", EVENTS / "http_v2.json", "--repeat", 10_000), r"(?:(?:START |END |REPORT |\{).*\n)*"),
}
MOMENTS = [
    (name, round(random.Random(f"{SEED} {name} {number}").uniform(0.02, 4), 3))
    for name, times in (("convert", 6), ("watch", 3), ("invoke", 3))
    for number in range(times)
]


def script(body: str, signals: tuple[signal.Signals, ...] = (signal.SIGINT,)) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a script that gets the signals, in turn, each time that it prints `now`."""
    head = "import os, signal, sys, time\nfrom infra import interrupts\nnow = lambda: print('now', flush=True)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", head + body],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=heed_ctrl_c,
    )
    with process:
        assert process.stdout
        waiting, out = list(signals), ""
        for line in process.stdout:
            if line != "now\n":
                out += line
            elif waiting:
                process.send_signal(waiting.pop(0))
        assert process.stderr
        return process.wait(timeout=60), out, process.stderr.read()


def test_the_process_ends_with_130_although_the_main_thread_would_swallow_every_exception() -> None:
    body = (
        "with interrupts.taken_over():\n now()\n while True:\n  try: time.sleep(60)\n  except BaseException: pass"
    )
    assert script(body) == (130, "", "")


def test_what_is_last_is_done_in_reverse_and_only_inside_of_its_block() -> None:
    body = (
        "with interrupts.taken_over():\n"
        " with interrupts.last(lambda: print('over', flush=True)): pass\n"
        " with interrupts.last(lambda: print('first', flush=True)), interrupts.last(lambda: 1 / 0):\n"
        "  with interrupts.last(lambda: print('second', flush=True)): now(); time.sleep(60)"
    )
    assert script(body) == (130, "second\nfirst\n", "")


def test_what_is_whole_comes_to_its_end_and_nothing_after_it_is_begun() -> None:
    body = (
        "with interrupts.taken_over():\n"
        " with interrupts.last(lambda: print('last', flush=True)):\n"
        "  with interrupts.whole(): now(); time.sleep(0.5); print('whole', flush=True)\n"
        "  time.sleep(60); print('after', flush=True)"
    )
    assert script(body) == (130, "whole\nlast\n", "")


def test_inside_of_what_is_whole_it_may_end_where_that_is_said() -> None:
    body = (
        "with interrupts.taken_over(), interrupts.whole():\n"
        " with interrupts.whole(): print('both', flush=True)\n"
        " with interrupts.anywhere(): now(); time.sleep(60)"
    )
    assert script(body) == (130, "both\n", "")


def test_who_clears_away_gets_a_keyboard_interrupt_and_only_there() -> None:
    body = (
        "with interrupts.taken_over():\n"
        " try:\n"
        "  with interrupts.raised(): now(); time.sleep(60)\n"
        " except KeyboardInterrupt: print('cleared', flush=True)\n"
        " now(); time.sleep(60)"
    )
    assert script(body, (signal.SIGINT, signal.SIGINT)) == (130, "cleared\n", "")


def test_after_the_end_ctrl_c_comes_too_late() -> None:
    assert script("with interrupts.taken_over(): pass\nnow(); time.sleep(0.2)") == (0, "", "")


def test_what_started_it_may_have_ctrl_c_ignored_and_sigterm_still_ends_it() -> None:
    body = (
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "with interrupts.taken_over(), interrupts.sigterm_too():\n"
        " with interrupts.last(lambda: print('last', flush=True)):\n"
        "  now(); time.sleep(0.2); print('ignored', flush=True); now(); time.sleep(60)"
    )
    assert script(body, (signal.SIGINT, signal.SIGTERM)) == (130, "ignored\nlast\n", "")


@pytest.mark.parametrize(("theirs", "code"), [("SIG_DFL", 130), ("SIG_IGN", 0)])
def test_a_closed_terminal_ends_it_too_unless_that_is_ignored(theirs: str, code: int) -> None:
    body = (
        f"signal.signal(signal.SIGHUP, signal.{theirs})\n"
        "with interrupts.taken_over(), interrupts.sigterm_too():\n"
        " with interrupts.last(lambda: print('last', flush=True)):\n"
        "  now(); time.sleep(1)"
    )
    assert script(body, (signal.SIGHUP,)) == (code, "last\n" if code else "", "")


def test_in_somebody_s_process_everything_is_as_it_was() -> None:
    body = (
        "try:\n"
        " with interrupts.whole(), interrupts.last(lambda: print('last', flush=True)), interrupts.raised():\n"
        "  now(); time.sleep(60)\n"
        "except KeyboardInterrupt: print('theirs', flush=True)"
    )
    assert script(body) == (0, "theirs\n", "")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    (tmp_path / "photos").mkdir()
    for number in range(60):
        (tmp_path / "photos" / f"{number:02}.jpg").write_bytes(picture("jpg", 600 + number, 400))
    return tmp_path / "photos"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells of a process's threads")
@pytest.mark.parametrize(("name", "moment"), MOMENTS)
def test_ctrl_c_at_any_moment_leaves_two_lines_of_ours_and_whole_pictures(
    environment: Environment, photos: Path, name: str, moment: float
) -> None:
    arguments, said = COMMANDS[name]
    command = [photos if argument == "photos" else argument for argument in arguments]
    with interruptible(environment, *command) as process:
        _wait_until_taken_over(process)
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.fullmatch(f"(?:{said})?", err), err
    told = [json.loads(line) for line in out.splitlines()]
    if name != "invoke":
        made = {line["output"] for line in told}
        assert made == {str(path) for path in photos.glob("*.anime.jpg")}
        assert all(size(Path(path)) for path in made)
        assert not list(photos.glob("*.part"))
        assert len(made) == int((re.search(r"(\d+) converted", err) or [0, 0])[1])


def _wait_until_taken_over(process: subprocess.Popen[str]) -> None:
    """Until there is the thread that waits for Ctrl-C: before, it is Python that has it, and its start."""
    while len(os.listdir(f"/proc/{process.pid}/task")) < 2:
        assert process.poll() is None, "it ended too early"
        time.sleep(0.01)


def test_the_command_line_itself_is_interrupted_while_it_is_imported(environment: Environment) -> None:
    """Its first own import, of the options, stands still here for as long as it takes."""
    code = (
        "import sys, time\n"
        "class Slow:\n"
        " def find_spec(self, name, path=None, target=None):\n"
        "  if name == 'infra.options': print('now', flush=True); time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from infra.cli import main\n"
        "sys.exit(main())"
    )
    process = subprocess.Popen(
        [CLI[0], "-c", code, "styles"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    )
    with process:
        assert process.stdout
        assert process.stdout.readline() == "now\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")
