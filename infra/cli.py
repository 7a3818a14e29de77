"""`animegan …`: parse, call, print."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from handler.errors import ConversionError, SettingsError, StyleError
from infra.errors import ToolError
from infra.options import parser
from infra.text import explained
from layers.model.errors import ModelError

EXPECTED = (ToolError, ModelError, SettingsError, StyleError, ConversionError, OSError)
INTERRUPTED, BROKEN_PIPE = 130, 141  # 128 + SIGINT, SIGPIPE, as shells count


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 done, 1 something failed, 2 wrong usage, 130 Ctrl-C, 141 whoever read stdout has gone."""
    args = parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr has it: a terminal may know only ASCII
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes stdout once more at exit (docs of the signal module, "Note on SIGPIPE").
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        code = INTERRUPTED
    except EXPECTED as error:
        code = _say(explained(error), args.debug)
    except Exception as defect:
        code = _say(f"a defect of ours ({type(defect).__name__}: {defect}); --debug shows where", args.debug)
    if code == INTERRUPTED:
        _leave(code)
    return code


def _say(why: str, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print(f"animegan: {why}", file=sys.stderr)
    return 1


def _leave(code: int) -> None:
    """End now: at an ordinary exit Python would wait for the conversion that Ctrl-C was meant to stop."""
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
