"""The options of `animegan video`."""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from pathlib import Path

from infra.arguments import Adder, new, positive, whole
from infra.video import commands
from infra.video.clip import HIGHEST_RATE


def add(adder: Adder) -> None:
    command = new(
        adder,
        "video",
        commands.video,
        "paint a video, with its sound if ffmpeg is installed",
        "print one JSON object at the end, with how much it flickers",
    )
    add = command.add_argument
    add("source", type=Path, metavar="IN", help="a clip that ffmpeg can read")
    add("out", type=Path, metavar="OUT", help="its suffix is the container: .mp4 .m4v .mov .mkv .webm .avi")
    add("--force", action="store_true", help="replace OUT")
    add("--style", metavar="NAME", help="see `animegan styles`; default: STYLE, or cel")
    add("--size", type=whole(2), metavar="PIXELS", help="long side, never above the clip's (default: up to 1024)")
    add("--start", type=_second, default=0.0, metavar="SECONDS", help="begin there")
    add("--duration", type=positive, metavar="SECONDS", help="end after so long")
    add("--fps", type=_rate, metavar="RATE", help="frames a second, such as 12 or 30000/1001; default: the clip's")
    add("--crf", type=whole(0, 63), metavar="0-63", help="the codec's quality, lower is better (H.264 18, VP9 24)")
    add("--no-sound", dest="sound", action="store_false", help="leave the sound out")
    add("--steady", action="store_true", help="less flicker, by blending along the motion in the clip")


def _rate(text: str) -> Fraction:
    try:
        rate = Fraction(text).limit_denominator(1001)
    except (ValueError, ZeroDivisionError):
        raise argparse.ArgumentTypeError(f"{text} is no rate") from None
    if not 0 < rate <= HIGHEST_RATE:
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and at most {HIGHEST_RATE}")
    return rate


def _second(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds") from None
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not 0 or more")
    return value
