"""What ffmpeg is told for each container: the picture's codec, and whether the sound can stay as it is."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from infra.text import reason, shown
from infra.video.clip import Plan
from infra.video.errors import VideoError

# Tried in order: not every build of ffmpeg has the first.
Codecs = dict[str, tuple[str, ...]]
MPEG4: Codecs = {"mpeg4": ("-q:v", "3")}
H264: Codecs = {"libx264": ("-crf", "18", "-preset", "medium"), "libopenh264": ("-b:v", "6M"), **MPEG4}
VP9: Codecs = {"libvpx-vp9": ("-crf", "24", "-b:v", "0", "-row-mt", "1"), "libvpx": ("-crf", "10", "-b:v", "6M")}
CODECS = {".mp4": H264, ".m4v": H264, ".mov": H264, ".mkv": H264, ".webm": VP9, ".avi": MPEG4}
# What players expect in a container, which may take more. Matroska has everything.
MP4 = {"aac", "ac3", "alac", "eac3", "flac", "mp3", "opus"}
PCM = {"pcm_s16le", "pcm_s24le"}
SOUNDS = {".mp4": MP4, ".m4v": MP4 - {"flac", "opus"}, ".mov": MP4 - {"flac", "opus"} | PCM}
SOUNDS |= {".webm": {"opus", "vorbis"}, ".avi": {"ac3", "mp3"} | PCM}
FASTER_START = {".mp4", ".m4v", ".mov"}  # the index in front, so that a browser plays it while it loads
# RGB frames are made BT.709, and say so; without the tags players guess by size.
COLOURS = "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p"
TAGS = ("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv")
TRIAL_S = "2"
FULL = "No space left on device"
QUIET = ("ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y")


def check_suffix(out: Path) -> None:
    """Raises VideoError where the name says no container that is written here."""
    if out.suffix.lower() not in CODECS:
        raise VideoError(f"{shown(out)}: name the video with one of {', '.join(CODECS)}")


def picture_options(suffix: str, crf: int | None) -> tuple[str, ...]:
    """Raises VideoError where this build of ffmpeg has no codec for the container."""
    codec = next((name for name in CODECS[suffix] if name in encoders()), None)
    if codec is None:
        names = ", ".join(CODECS[suffix])
        raise VideoError(f"this ffmpeg cannot write {suffix}: it has none of {names}; try another suffix")
    options = CODECS[suffix][codec]
    if crf is not None and "-crf" in options:
        options = ("-crf", str(crf), *options[2:])
    faster = ("-movflags", "+faststart") if suffix in FASTER_START else ()
    return ("-c:v", codec, *options, "-vf", COLOURS, *TAGS, *faster)


def sound_options(plan: Plan, part: Path) -> tuple[tuple[str, ...], str]:
    """(ffmpeg's options, with the source as second input; what to say of the sound).

    Copied where players expect the codec in the container, else encoded with the container's default; either is
    tried on two seconds. Raises VideoError where neither can be, so that it is known before any frame is painted.
    """
    if not plan.clip.sound:
        return (), "the clip has none"
    if not plan.keep_sound:
        return (), "left out"
    _create(part)
    expected = plan.clip.sound in SOUNDS.get(part.suffix, {plan.clip.sound})
    why = ""
    for options, told in ((("-c:a", "copy"), "copied"), ((), "encoded anew")):
        if (expected or not options) and not (why := _trial(plan, part, options)):
            return ("-map", "1:a", *options), f"{told} ({plan.clip.sound})"
    raise VideoError(
        f"the sound of {shown(plan.source)} ({plan.clip.sound}) can be neither copied into {part.suffix} nor "
        f"encoded for it ({shown(why)}): write .mkv, or leave it out with --no-sound"
    )


def _create(part: Path) -> None:
    """Or a trial's failure would be laid to the sound. Raises VideoError."""
    try:
        part.touch()
    except OSError as error:
        raise VideoError(f"{shown(part.parent)} cannot be written to: {reason(error)}") from None


def source(plan: Plan) -> tuple[str, ...]:
    """The part of the source that is wanted, as an input."""
    start = ("-ss", f"{plan.start:.6f}") if plan.start else ()
    end = ("-t", f"{plan.duration:.6f}") if plan.duration else ()
    return (*start, *end, "-i", f"file:{plan.source}")


def _trial(plan: Plan, part: Path, options: tuple[str, ...]) -> str:
    """Why the sound cannot be written so, in ffmpeg's words; empty if it can. Raises VideoError on a full disk."""
    command = [*QUIET, "-t", TRIAL_S, "-i", f"file:{plan.source}", "-map", "0:a", *options, f"file:{part}"]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL)
    finally:
        part.unlink(missing_ok=True)
    said = done.stderr.decode(errors="replace").strip()
    if FULL in said:
        raise VideoError(f"{shown(part.parent)} cannot be written to: {FULL}")
    return (said.splitlines() or ["ffmpeg says no more"])[-1] if done.returncode else ""


@cache
def encoders() -> frozenset[str]:
    """Names of this ffmpeg's encoders of pictures."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-encoders"], capture_output=True, stdin=subprocess.DEVNULL)
    return frozenset(re.findall(r"^ V\S+ (\S+)", done.stdout.decode(errors="replace"), re.MULTILINE))
