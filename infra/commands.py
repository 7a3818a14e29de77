"""What convert, invoke and serve do. Heavy imports are in the functions, so that help is quick.

Each takes the parsed arguments, prints (data on stdout, all else on stderr) and returns the exit code. They raise
ToolError, ModelError, SettingsError, StyleError and OSError, which cli.py turns into one line.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from infra import progress, streams, styles
from infra.errors import BadRequest
from infra.photos import EXTENSIONS, find
from infra.text import shown

if TYPE_CHECKING:
    from infra.emulator import Emulator


def convert(args: Namespace) -> int:
    """0 if every photo was converted or has its picture already, 1 if one failed, 130 after Ctrl-C."""
    from infra.batch import Batch, set_local_limits

    _check_folder(args.out)
    found = find(args.photos, args.out)
    set_local_limits(args.size)
    if args.style:
        os.environ["STYLE"] = args.style  # so that no other is loaded
    counts: Counter[str] = Counter()
    try:
        with _log(args) as log, _bar(args) as (say, advance):
            batch = Batch(lambda: _emulator(args, log, say), found, args.out, _parameters(args), args.force)
            advance(0, len(batch))
            for outcome in batch:
                counts[outcome.status] += 1
                if args.json:
                    print(outcome.as_json(), flush=True)
                else:
                    say(outcome.as_text())
                advance(counts.total(), len(batch))
    except KeyboardInterrupt:
        progress.plain(_summary(counts, found.left, nothing="nothing done") + "; stopped by Ctrl-C")
        return 130
    progress.plain(_summary(counts, found.left))
    return 1 if counts["failed"] else 0


def _bar(args: Namespace) -> AbstractContextManager[tuple[progress.Say, progress.Advance]]:
    """None where lines of the log or of --json would run through it."""
    return progress.bar("converting", shown=not args.verbose and not (args.json and sys.stdout.isatty()))


def _log(args: Namespace) -> AbstractContextManager[TextIO]:
    return streams.log_to_stderr() if args.verbose else streams.log_to(args.log)


def _emulator(args: Namespace, log: TextIO, say: progress.Say) -> Emulator:
    from infra.emulator import Emulator

    _prepare(say)
    return Emulator(limits=False, log=log, debug=args.debug)


def _prepare(say: progress.Say) -> None:
    from handler.settings import Settings

    settings = Settings.from_environment()
    styles.prepare(settings.style, settings.styles_dir, say)


def _parameters(args: Namespace) -> dict[str, str]:
    """Options -> the parameters of POST /convert."""
    given = {name: getattr(args, name) for name in ("style", "size", "format", "quality")}
    switched = {name: "true" for name in ("side_by_side", "upscale") if getattr(args, name)}
    return {name: str(value) for name, value in given.items() if value is not None} | switched


def _summary(counts: Counter[str], left: Counter[str], nothing: str = "no photo found to convert") -> str:
    done = [f"{counts[status]} {status}" for status in ("converted", "skipped", "failed") if counts[status]]
    others = ", ".join(f"{number} {why}" for why, number in sorted(left.items()))
    said = ", ".join(done) or nothing
    return f"animegan: {said}" + (f"; left: {others}" if others else "")


def _check_folder(out: Path | None) -> None:
    if out and not out.is_dir() and (out.exists() or out.suffix.lower() in EXTENSIONS):
        raise BadRequest(f"-o takes a folder, and {shown(out)} is none: pictures keep their photo's name")


def invoke(args: Namespace) -> int:
    """0 if all went well, 1 on a function error, an HTTP status of 400 or more, or a file that was not written."""
    from infra.invocations import read_event
    from infra.local_s3 import local_s3

    if args.out and len(args.events) > 1:
        raise BadRequest("--out takes the picture of one event: give one, or leave --out out")
    events = [read_event(name) for name in args.events]
    served = local_s3(args.s3, progress.plain) if args.s3 else nullcontext(list[str]())
    with served as unwritten:
        code = _invoke(args, events)
    return 1 if unwritten else code


def _invoke(args: Namespace, events: list[Any]) -> int:
    from infra.emulator import Emulator, lambda_environment
    from infra.invocations import failed, picture, shortened
    from infra.outputs import write

    lambda_environment(args.memory)
    _prepare(progress.plain)
    emulator = Emulator(memory_mb=args.memory, limits=args.limits, debug=args.debug)
    bad = False
    for event in events * args.repeat:
        done = emulator.invoke(event, args.timeout)
        bad |= failed(done)
        print(json.dumps(shortened(done.payload) if sys.stdout.isatty() else done.payload), flush=True)
        if args.out and not failed(done):
            data = picture(done.payload)
            if data is None:
                raise BadRequest(f"the answer has no picture, so {shown(args.out)} was not written")
            write(args.out, data)
    return 1 if bad else 0


def serve(args: Namespace) -> int:
    """0 after Ctrl-C."""
    from infra.serve import serve as run

    _prepare(progress.plain)
    run(args.host, args.port, progress.plain)
    return 0
