"""What `animegan convert` does, with its bar, its lines and its summary. Heavy imports are in the functions.

Raises what commands.py does.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from infra import interrupts, progress, streams
from infra.commands import prepare
from infra.errors import BadRequest
from infra.photos import EXTENSIONS, Found, find
from infra.summary import SCREEN, Summary
from infra.text import shown

if TYPE_CHECKING:
    from infra.batch import Batch
    from infra.emulator import Emulator
    from infra.watch import Watching


def convert(args: Namespace) -> int:
    """0 if every photo was converted or has its picture already, 1 if one failed or there was none."""
    from infra.batch import set_local_limits

    _check_folder(args.out)
    found = Found() if args.watch else find(args.photos, args.out)
    set_local_limits(args.size)
    if args.style:
        os.environ["STYLE"] = args.style  # so that no other is loaded
    summary = Summary()
    with interrupts.whole():  # each picture that is written is told and counted
        with interrupts.last(lambda: _stopped(summary, found)), _log(args) as log, _bar(args) as (say, advance):
            _convert(args, found, summary, log, say, advance)
        _say(summary.lines(found.left))
    return 1 if summary.counts["failed"] or not summary.counts else 0


def _stopped(summary: Summary, found: Found) -> None:
    _say([*summary.lines(found.left, nothing="nothing done"), "animegan: stopped by Ctrl-C"])


def _convert(
    args: Namespace, found: Found, summary: Summary, log: TextIO, say: progress.Say, advance: progress.Advance
) -> None:
    def begin() -> None:
        summary.begin()
        advance(summary.worked, len(batch) - summary.counts["skipped"])

    batch = _batch(args, found, log, say, begin)
    advance(0, len(batch))
    for outcome in batch:
        summary.add(outcome)
        if args.json:
            print(outcome.as_json(), flush=True)
        elif outcome.status != "skipped" or len(batch) <= SCREEN:  # to resume is not to tell it all again
            say(outcome.as_text())
        advance(summary.worked, len(batch) - summary.counts["skipped"])


def _batch(
    args: Namespace, found: Found, log: TextIO, say: progress.Say, begin: Callable[[], None]
) -> Batch | Watching:
    """`begin` is called when the function is ready for its first photo."""
    from infra.batch import Batch

    start = cache(lambda: _emulator(args, log, say, begin))
    parameters = _parameters(args)
    if not args.watch:
        return Batch(start, found, args.out, parameters, args.force)
    from infra.watch import Watch, Watching

    watch = Watch(args.photos, args.out, say)
    say(f"animegan: watching {', '.join(map(shown, args.photos))} (Ctrl-C ends)")
    return Watching(watch, lambda found, stale: Batch(start, found, args.out, parameters, args.force, stale))


def _check_folder(out: Path | None) -> None:
    if out and not out.is_dir() and (out.exists() or out.suffix.lower() in EXTENSIONS):
        raise BadRequest(f"-o takes a folder, and {shown(out)} is none: pictures keep their photo's name")


def _bar(args: Namespace) -> AbstractContextManager[tuple[progress.Say, progress.Advance]]:
    """None where lines of the log or of --json would run through it."""
    return progress.bar("converting", shown=not args.verbose and not (args.json and sys.stdout.isatty()))


def _log(args: Namespace) -> AbstractContextManager[TextIO]:
    return streams.log_to_stderr() if args.verbose else streams.log_to(args.log)


def _emulator(args: Namespace, log: TextIO, say: progress.Say, begin: Callable[[], None]) -> Emulator:
    from infra.emulator import Emulator

    prepare(say, args.face)
    emulator = Emulator(limits=False, log=log, debug=args.debug)
    begin()
    return emulator


def _parameters(args: Namespace) -> dict[str, str]:
    """Options -> the parameters of POST /convert."""
    given = {name: getattr(args, name) for name in ("style", "size", "format", "quality")}
    switched = {name: "true" for name in ("face", "side_by_side", "upscale") if getattr(args, name)}
    return {name: str(value) for name, value in given.items() if value is not None} | switched


def _say(lines: list[str]) -> None:
    for line in lines:
        progress.plain(line)
