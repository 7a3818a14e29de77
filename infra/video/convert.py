"""A clip into a painted one: read, paint, write aside, rename."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from handler.alpha import Pixels
from infra import aside as asides
from infra import interrupts
from infra.progress import Advance
from infra.text import shown
from infra.video.clip import Backend, Plan
from infra.video.errors import VideoError
from infra.video.ffmpeg import Ffmpeg
from infra.video.opencv import OpenCv
from infra.video.painting import Painting


def backend() -> Backend:
    """ffmpeg where it is installed, else OpenCV."""
    return Ffmpeg() if shutil.which("ffmpeg") and shutil.which("ffprobe") else OpenCv()


def aside(out: Path) -> Path:
    """Where the video is written until it is whole: hidden, with the suffix by which the container is known."""
    return asides.aside(out, out.suffix.lower())


def convert(engine: Backend, plan: Plan, out: Path, painting: Painting, advance: Advance) -> int:
    """Write `out`, and tell the number of its frames. Raises VideoError, OSError; `out` is whole or as it was."""
    part = aside(out)
    with clearing(part):
        with interrupts.anywhere(), engine.read(plan) as frames:
            first = next(frames, None)
            if first is None:
                raise VideoError(f"{shown(plan.source)} has no frame {_where(plan)}")
            with engine.write(plan, part) as write:
                count = _all(painting.frames(chain([first], frames)), write, plan, advance)
        _settle(part, out)
    return count


@contextmanager
def clearing(part: Path) -> Iterator[None]:
    """However the block ends, nothing is left at `part`."""

    def clear() -> None:
        with suppress(OSError):
            part.unlink(missing_ok=True)

    with interrupts.last(clear):
        try:
            yield
        finally:
            clear()


def _all(frames: Iterator[Pixels], write: Callable[[Pixels], None], plan: Plan, advance: Advance) -> int:
    count = 0
    for count, frame in enumerate(frames, 1):
        write(frame)
        advance(count, max(count, plan.frames or 0) or None)
    return count


def _settle(part: Path, out: Path) -> None:
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(out)


def _where(plan: Plan) -> str:
    later = f"at {plan.start:g} s or later" if plan.start else "that can be read"
    return f"{later}, or is too short for {float(plan.rate):g} frames a second"
