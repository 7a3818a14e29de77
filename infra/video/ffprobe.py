"""A clip's size, rate, length and sound, as ffprobe tells them."""

from __future__ import annotations

import json
import math
import re
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

from infra.text import shown
from infra.video.clip import Clip, nominal
from infra.video.errors import VideoError

HDR = {"smpte2084": "PQ", "arib-std-b67": "HLG"}
STILL = re.compile(r"(?:image2|\w+_pipe)\b")  # ffmpeg's names for formats of one picture
LENGTH = re.compile(r"(\d+):(\d+):(\d+(?:\.\d+)?)")  # as Matroska tells that of each stream
INTERLACED = {"tt", "bb", "tb", "bt"}
HD_HEIGHT = 720  # from there on, colours that do not say otherwise are BT.709's
FIELDS = (
    "stream=codec_type,codec_name,width,height,sample_aspect_ratio,r_frame_rate,avg_frame_rate,duration,"
    "field_order,color_transfer,color_space:stream_disposition=attached_pic:stream_tags=rotate,DURATION"
    ":stream_side_data=rotation:format=format_name,duration,start_time"
)


def probe(path: Path) -> Clip:
    """Raises VideoError where there is no picture stream, in ffprobe's words where it has any."""
    said = _ask(path)
    if STILL.match(said.get("format", {}).get("format_name", "")):
        raise VideoError(f"{shown(path)} is a picture, and no video: `animegan convert` is for pictures")
    streams = said.get("streams", [])
    pictures = [one for one in streams if one.get("codec_type") == "video" and not _is_cover(one)]
    if not pictures or not pictures[0].get("width"):
        raise VideoError(f"{shown(path)} is not a video: it has no moving pictures")
    sounds = [one.get("codec_name", "unknown") for one in streams if one.get("codec_type") == "audio"]
    return _clip(pictures[0], said.get("format", {}), sounds[0] if sounds else None)


def _ask(path: Path) -> dict[str, Any]:
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_entries", FIELDS, "-i", f"file:{path}"]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines() or ["ffprobe says no more"]
        why = last[-1].removeprefix(f"file:{path}: ")
        raise VideoError(f"{shown(path)} is not a video that ffmpeg can read: {shown(why)}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _is_cover(stream: dict[str, Any]) -> bool:
    return bool(stream.get("disposition", {}).get("attached_pic"))


def _clip(stream: dict[str, Any], container: dict[str, Any], sound: str | None) -> Clip:
    width, height = stream["width"], stream["height"]
    aspect = _fraction(stream.get("sample_aspect_ratio", "1:1").replace(":", "/")) or Fraction(1)
    width = max(1, round(width * aspect))
    if _rotation(stream) % 180 == 90:
        width, height = height, width
    average, clock = (_fraction(stream.get(name, "0/0")) for name in ("avg_frame_rate", "r_frame_rate"))
    untagged = stream.get("color_space", "unknown") in ("unknown", "unspecified", "reserved")
    return Clip(
        (width, height),
        nominal(average, clock),
        _seconds(stream, container),
        sound,
        ("yadif=deint=interlaced",) if stream.get("field_order") in INTERLACED else (),
        "bt709" if untagged and min(width, height) >= HD_HEIGHT else "auto",
        _warnings(stream),
    )


def _warnings(stream: dict[str, Any]) -> tuple[str, ...]:
    kind = HDR.get(stream.get("color_transfer", ""))
    return (f"the clip is HDR ({kind}), and its colours are not mapped: they will look pale",) if kind else ()


def _rotation(stream: dict[str, Any]) -> int:
    """Degrees, which ffmpeg turns back by itself while it reads."""
    turned = [side["rotation"] for side in stream.get("side_data_list", []) if "rotation" in side]
    return round(float(turned[0] if turned else stream.get("tags", {}).get("rotate", 0)))


def _seconds(stream: dict[str, Any], container: dict[str, Any]) -> float | None:
    if told := LENGTH.fullmatch(stream.get("tags", {}).get("DURATION", "")):
        hours, minutes, seconds = map(float, told.groups())
        return 3600 * hours + 60 * minutes + seconds or None
    for text in (stream.get("duration"), container.get("duration")):
        try:
            if math.isfinite(seconds := float(text or "nan")) and seconds > 0:
                return seconds
        except ValueError:
            continue
    return None


def _fraction(text: str) -> Fraction:
    """`30000/1001`; 0 where there is none."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return Fraction(0)
