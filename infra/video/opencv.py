"""Clips through OpenCV, where ffmpeg is missing: the same pictures, larger files, and no sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import cv2

from handler.alpha import Pixels, u8
from infra.text import shown
from infra.video.clip import Clip, Plan, nominal
from infra.video.errors import VideoError

# Of what OpenCV's wheels can encode; H.264 is not in them.
CODECS = {".mp4": "mp4v", ".m4v": "mp4v", ".mov": "mp4v", ".mkv": "mp4v", ".webm": "VP90", ".avi": "MJPG"}
Timed = Iterator[tuple[float, Pixels]]


class OpenCv:
    """A Backend."""

    name = "OpenCV"

    def probe(self, path: Path) -> Clip:
        """Size and rate of the first frame that can be read, upright as OpenCV turns it by itself."""
        video = _open(path)
        done, frame = video.read()
        rate = _fraction(video.get(cv2.CAP_PROP_FPS))
        count = video.get(cv2.CAP_PROP_FRAME_COUNT)
        video.release()
        if not done:
            raise VideoError(f"{shown(path)} is not a video: it has no frame that can be read")
        size = (frame.shape[1], frame.shape[0])
        return Clip(size, nominal(rate, rate), count / rate if count > 0 and rate else None)

    def prepare(self, plan: Plan, part: Path) -> str:
        return "left out: OpenCV has none; install ffmpeg to keep it" if plan.keep_sound else "left out"

    @contextmanager
    def read(self, plan: Plan) -> Iterator[Iterator[Pixels]]:
        video = _open(plan.source)
        try:
            yield (_fitted(frame, plan.size) for frame in constant(_timed(video, plan), plan.rate))
        finally:
            video.release()

    @contextmanager
    def write(self, plan: Plan, part: Path) -> Iterator[Callable[[Pixels], None]]:
        code = cv2.VideoWriter.fourcc(*CODECS[part.suffix.lower()])
        video = cv2.VideoWriter(str(part), cv2.CAP_FFMPEG, code, float(plan.rate), plan.size)
        if not video.isOpened():
            raise VideoError(f"OpenCV cannot write {part.suffix} files here: is the folder there, and writable?")

        def write(frame: Pixels) -> None:
            video.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))

        try:
            yield write
        finally:
            video.release()
        _check_whole(part)


def constant(frames: Timed, rate: Fraction) -> Iterator[Pixels]:
    """Frames at seconds since the first -> one for each tick of `rate`: the latest that had begun by then."""
    before: Pixels | None = None
    ticks = 0
    for seconds, frame in frames:
        while before is not None and ticks < round(seconds * rate):
            yield before
            ticks += 1
        before = frame
    if before is not None:
        yield before


def _timed(video: cv2.VideoCapture, plan: Plan) -> Timed:
    first: float | None = None
    end = plan.start + plan.duration if plan.duration else None
    while video.grab():
        seconds = video.get(cv2.CAP_PROP_POS_MSEC) / 1000
        if seconds < plan.start:
            continue
        if end is not None and seconds >= end:
            return
        done, frame = video.retrieve()
        if done:
            first = seconds if first is None else first
            yield seconds - first, u8(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))


def _fitted(frame: Pixels, size: tuple[int, int]) -> Pixels:
    if (frame.shape[1], frame.shape[0]) == size:
        return frame
    return u8(cv2.resize(frame, size, interpolation=cv2.INTER_AREA))


def _open(path: Path) -> cv2.VideoCapture:
    video = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG)
    if not video.isOpened():
        raise VideoError(f"{shown(path)} is not a video that OpenCV can read; with ffmpeg installed more can be")
    return video


def _check_whole(part: Path) -> None:
    """OpenCV's writer tells nothing of a full disk, so what it wrote is opened again."""
    try:
        video = _open(part)
        whole = video.read()[0]
        video.release()
    except VideoError:
        whole = False
    if not whole:
        raise VideoError("what OpenCV wrote is no whole video; is the disk full? Nothing was written")


def _fraction(rate: float) -> Fraction:
    """29.97002997 -> 30000/1001."""
    return Fraction(rate).limit_denominator(1001) if 0 < rate < 1e6 else Fraction(0)
