"""What invoke and serve do. Heavy imports are in the functions, so that help is quick.

Each takes the parsed arguments, prints (data on stdout, all else on stderr) and returns the exit code. They raise
ToolError, ModelError, SettingsError, StyleError and OSError, which cli.py turns into one line.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from contextlib import nullcontext
from typing import Any

from infra import interrupts, progress, styles
from infra.errors import BadRequest
from infra.text import shown


def prepare(say: progress.Say, face: bool = False) -> None:
    """See that the style, and for `face` the detector, are there before the function is loaded."""
    from handler.settings import Settings

    settings = Settings.from_environment()
    styles.prepare(settings.style, settings.styles_dir, say)
    if face:
        styles.check_detector(settings.detector)


def invoke(args: Namespace) -> int:
    """0 if all went well, 1 on a function error, an HTTP status of 400 or more, or a file that was not written."""
    from infra.invocations import read_event
    from infra.local_s3 import local_s3

    if args.out and len(args.events) > 1:
        raise BadRequest("--out takes the picture of one event: give one, or leave --out out")
    events = [read_event(name) for name in args.events]
    served = local_s3(args.s3, progress.plain) if args.s3 else nullcontext(list[str]())
    with interrupts.whole(), served as unwritten:  # no answer is told by half
        code = _invoke(args, events)
    return 1 if unwritten else code


def _invoke(args: Namespace, events: list[Any]) -> int:
    from infra.emulator import Emulator, lambda_environment
    from infra.invocations import failed, picture, shortened
    from infra.outputs import write

    lambda_environment(args.memory)
    with interrupts.anywhere():
        prepare(progress.plain)
        emulator = Emulator(memory_mb=args.memory, limits=args.limits, debug=args.debug)
    bad = False
    for event in events * args.repeat:
        with interrupts.anywhere():
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
    """0 after Ctrl-C, once it serves."""
    from infra.serve import serve as run

    prepare(progress.plain)
    run(args.host, args.port, progress.plain)
    return 0
