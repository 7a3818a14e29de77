"""What `animegan video` does: checks, a bar, and what is said at the end. Heavy imports are in the functions."""

from __future__ import annotations

import json
import os
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra import interrupts, pace, progress, streams, styles
from infra.aside import clear
from infra.batch import set_local_limits
from infra.text import shown
from infra.video.containers import check_suffix
from infra.video.errors import VideoError

if TYPE_CHECKING:
    from handler.settings import Settings
    from infra.video.clip import Backend, Clip, Plan
    from infra.video.painting import Painting


def video(args: Namespace) -> int:
    """0 if the video was written. Raises ToolError, SettingsError, StyleError, OSError."""
    _check(args.source, args.out, args.force)
    clear(args.out.parent)
    stopped = f"animegan: stopped; {shown(args.out)} was not written"
    with interrupts.whole(), interrupts.last(lambda: progress.plain(stopped)):
        return _video(args)


def _video(args: Namespace) -> int:
    from infra.video.convert import aside, backend, clearing, convert

    with _quietly(), progress.bar("painting", lines=True) as (say, advance):
        with clearing(aside(args.out)), interrupts.anywhere():
            engine = backend()
            clip = engine.probe(args.source)
            settings = _settings(args)
            plan = _plan(args, clip, settings.max_side)
            sound = engine.prepare(plan, aside(args.out))
            for line in _announced(args, engine, plan, sound):
                say(f"animegan: {line}")
            painting = _painting(args, settings, say)
        begun = time.perf_counter()
        frames = convert(engine, plan, args.out, painting, advance)
        spent = time.perf_counter() - begun
    done = {"engine": engine.name, "frames": frames, "sound": sound, "seconds": round(spent, 1)}
    _tell(args, plan, painting, done)
    return 0


def _check(source: Path, out: Path, force: bool) -> None:
    """All that can be known before the clip is opened."""
    if not source.exists():
        raise VideoError(f"{shown(source)}: no such file")
    if not source.is_file():
        raise VideoError(f"{shown(source)} is not a file: give one video; folders are for `animegan convert`")
    check_suffix(out)
    if not out.parent.is_dir():
        raise VideoError(f"{shown(out.parent)} is no folder to write {shown(out.name)} to")
    if not os.access(out.parent, os.W_OK):
        raise VideoError(f"{shown(out.parent)} cannot be written to: permission denied")
    if out.exists() and out.samefile(source):
        raise VideoError(f"{shown(out)} is the clip itself: give the painted one another name")
    if out.exists() and not (force and out.is_file()):
        raise VideoError(f"{shown(out)} is there already" + (": --force replaces it" if out.is_file() else ""))


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the noise of codecs; SIGTERM clears away as Ctrl-C does."""
    with streams.log_to(None), interrupts.sigterm_too():
        yield


def _settings(args: Namespace) -> Settings:
    from handler.settings import Settings

    set_local_limits(args.size)
    if args.style:
        os.environ["STYLE"] = args.style
    return Settings.from_environment()


def _plan(args: Namespace, clip: Clip, max_side: int) -> Plan:
    from infra.video.clip import Plan, even_size

    if clip.seconds is not None and args.start >= clip.seconds:
        raise VideoError(f"--start {args.start:g} is past the end of the clip, which has {clip.seconds:.1f} s")
    size = even_size(clip.size, args.size, max_side)
    rate = args.fps or clip.rate
    return Plan(args.source, clip, size, rate, args.start, args.duration, args.crf, args.sound)


def _announced(args: Namespace, engine: Backend, plan: Plan, sound: str) -> list[str]:
    count = f"about {plan.frames} frames" if plan.frames else "an unknown number of frames"
    lines = [f"{count} of {plan.size[0]}×{plan.size[1]} at {float(plan.rate):g}/s; sound: {sound}"]
    if engine.name != "ffmpeg":
        lines.append("warning: ffmpeg is not installed, so the video will have no sound, and a larger file")
        lines += ["warning: --crf needs ffmpeg, and is ignored"] if args.crf is not None else []
    return lines + [f"warning: {warning}" for warning in plan.clip.warnings]


def _painting(args: Namespace, settings: Settings, say: progress.Say) -> Painting:
    from infra.video.painting import Painting, painter

    return Painting(painter(styles.load(settings, say)[settings.style]), steady=args.steady)


def _tell(args: Namespace, plan: Plan, painting: Painting, done: dict[str, Any]) -> None:
    from infra.video.flicker import as_text

    flicker = painting.flicker.report()
    width, height = plan.size
    cut_off = _cut_off(plan, done["frames"])
    if args.json:
        paths = {"source": str(args.source), "output": str(args.out), "style": os.environ.get("STYLE", "cel")}
        shape = {"width": width, "height": height, "fps": round(float(plan.rate), 3)}
        rest = {"repeated": painting.repeated, "warnings": [*plan.clip.warnings, *cut_off], "flicker": flicker}
        print(json.dumps({**paths, **shape, **done, **rest}), flush=True)
    again = f", {painting.repeated} of them shown again" if painting.repeated else ""
    each = f"{pace.spent(done['seconds'])}, {pace.rate(done['frames'] / max(done['seconds'], 1e-3))}"
    what = f"{width}×{height}, {done['frames']} frames{again}, {each}"
    progress.plain(f"{shown(args.source)} -> {shown(args.out)} ({what})")
    progress.plain(f"animegan: sound: {done['sound']}; {as_text(flicker)}")
    for warning in cut_off:
        progress.plain(f"animegan: warning: {warning}")


def _cut_off(plan: Plan, frames: int) -> list[str]:
    """What to say where a clip has fewer frames than it says itself, by more than rounding makes of it."""
    if not plan.frames or frames >= 0.95 * plan.frames - 2:
        return []
    return [f"{frames} frames came of about {plan.frames}: the clip is cut off or damaged; the rest was painted"]
