"""`animegan …`: parse, call, print."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from infra import interrupts

BROKEN_PIPE = 141  # 128 + SIGPIPE, as shells count
# Commands with processes to end and folders to remove, whenever they end.
CLEARING = ("bench", "doctor", "freeze")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 done, 1 something failed, 2 wrong usage, 130 Ctrl-C, 141 whoever read stdout has gone.

    Without `argv` the process is this command and nothing else, and Ctrl-C ends it at once.
    """
    with interrupts.taken_over() if argv is None else nullcontext():
        return _run(argv)


def _run(argv: Sequence[str] | None) -> int:
    for name in ("stdout", "stderr"):  # None where whoever started us closed it
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
    # Imported here, as Ctrl-C should find nothing half imported.
    from infra.arguments import parsed
    from infra.options import parser

    args = parsed(parser(), argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr has it: a terminal may know only ASCII
    try:
        with interrupts.raised() if args.command in CLEARING else nullcontext():
            code: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more at exit (docs of the signal module, "Note on SIGPIPE").
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return _leave(interrupts.EXIT_CODE)
    except Exception as error:
        return _say(error, args.debug)
    return code


def _say(error: Exception, debug: bool) -> int:
    """What was wrong in one line, as far as it is known; else where to look."""
    import traceback

    from handler.errors import ConversionError, SettingsError, StyleError
    from infra.errors import ToolError
    from infra.text import explained
    from layers.model.errors import ModelError

    if debug:
        traceback.print_exc()
    expected = (ToolError, ModelError, SettingsError, StyleError, ConversionError, OSError)
    defect = f"a defect of ours ({type(error).__name__}: {error}); --debug shows where"
    print(f"animegan: {explained(error) if isinstance(error, expected) else defect}", file=sys.stderr)
    return 1


def _leave(code: int) -> int:
    """End now: at an ordinary exit Python would wait for the conversion that Ctrl-C was meant to stop."""
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
