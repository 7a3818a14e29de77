"""Clips through ffmpeg: raw frames in one pipe and out of another, with the sound taken over from the source."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np

from handler.alpha import Pixels
from infra import interrupts
from infra.text import shown
from infra.video import containers, ffprobe
from infra.video.clip import Clip, Plan
from infra.video.errors import VideoError

UNWRITTEN = re.compile("Error (?:writing trailer|closing file)|No space left")  # said, and yet it ends with code 0
PATIENCE_S = 5.0  # for a process that was told to end


class Ffmpeg:
    """A Backend. Timestamps do not go through the pipes, so frames come at a constant rate."""

    name = "ffmpeg"

    def __init__(self) -> None:
        self._sound: tuple[str, ...] = ()
        self._video: tuple[str, ...] = ()

    def probe(self, path: Path) -> Clip:
        return ffprobe.probe(path)

    def prepare(self, plan: Plan, part: Path) -> str:
        self._video = containers.picture_options(part.suffix.lower(), plan.crf)
        self._sound, told = containers.sound_options(plan, part)
        return told

    @contextmanager
    def read(self, plan: Plan) -> Iterator[Iterator[Pixels]]:
        command = [*containers.QUIET, *containers.source(plan), "-map", "0:V:0", "-an", "-sn", "-dn"]
        command += ["-vf", _filters(plan), "-f", "rawvideo", "-pix_fmt", "rgb24", "pipe:1"]
        with _process(command, stdout=subprocess.PIPE) as (process, complaints):
            yield _frames(process, plan, complaints)

    @contextmanager
    def write(self, plan: Plan, part: Path) -> Iterator[Callable[[Pixels], None]]:
        width, height = plan.size
        raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-video_size", f"{width}x{height}")
        command = [*containers.QUIET, *raw, "-framerate", str(plan.rate), "-i", "pipe:0"]
        command += [*(containers.source(plan) if self._sound else ()), "-map", "0:v:0", *self._video, *self._sound]
        command += ["-map_metadata", "-1", "-map_chapters", "-1", f"file:{part}"]
        with _process(command, stdin=subprocess.PIPE) as (process, complaints):
            pipe = process.stdin
            assert pipe

            def write(frame: Pixels) -> None:
                try:
                    pipe.write(np.ascontiguousarray(frame).data)
                except BrokenPipeError:
                    raise _failure("writing", process, complaints) from None

            yield write
            with suppress(BrokenPipeError):
                pipe.close()
            if process.wait() or UNWRITTEN.search(_said(complaints)):
                raise _failure("writing", process, complaints)


def _filters(plan: Plan) -> str:
    """Rate first, so that no frame is scaled for nothing; ffmpeg has turned the frames upright before.

    A picture that begins after the sound has its first frame until then, or the two would part.
    """
    width, height = plan.size
    scale = f"scale={width}:{height}:flags=area+accurate_rnd:in_color_matrix={plan.clip.matrix}"
    return ",".join([*plan.clip.filters, f"fps=fps={plan.rate}:start_time=0", scale, "setsar=1"])


def _frames(process: subprocess.Popen[bytes], plan: Plan, complaints: IO[bytes]) -> Iterator[Pixels]:
    width, height = plan.size
    pipe, length = process.stdout, width * height * 3
    assert pipe
    while len(data := pipe.read(length)) == length:
        yield np.frombuffer(data, np.uint8).reshape(height, width, 3)
    if process.wait() or data:
        raise _failure("reading", process, complaints)


@contextmanager
def _process(
    command: list[str], stdin: int = subprocess.DEVNULL, stdout: int = subprocess.DEVNULL
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """A process and what it complains of. However the block ends, the process has ended after it."""
    # A file, as a pipe that nobody reads would stop it; a session of its own, as Ctrl-C is for us to deal with.
    with tempfile.TemporaryFile() as complaints, ExitStack() as stack:
        with interrupts.whole():
            process = subprocess.Popen(
                command, stdin=stdin, stdout=stdout, stderr=complaints, start_new_session=True
            )
            stack.callback(_end, process)
            stack.enter_context(interrupts.last(lambda: _end(process)))
        yield process, complaints


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()  # what it was writing is thrown away anyway
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with suppress(OSError):
                pipe.close()
    process.wait(PATIENCE_S)


def _failure(doing: str, process: subprocess.Popen[bytes], complaints: IO[bytes]) -> VideoError:
    """Why ffmpeg has ended, in its own first words: what comes later follows from it."""
    code = process.wait()
    lines = _said(complaints).strip().splitlines()
    said = f": {shown(lines[0].strip())}" if lines else ""
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    return VideoError(f"ffmpeg {how} while {doing} the video{said}; nothing was written")


def _said(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    return complaints.read().decode(errors="replace")
