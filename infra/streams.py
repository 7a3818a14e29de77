"""Where the function's log goes on a command line: stdout is for data, stderr for what a person wants to know."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import TextIO

STDERR = 2


@contextmanager
def log_to(path: Path | None) -> Iterator[TextIO]:
    """A log that is appended to `path`, or lost without one; the noise of C libraries goes there too.

    libjpeg, libpng and OpenCV write their complaints to file descriptor 2, past sys.stderr, and would run
    through a progress bar; so for the while that is the log, and sys.stderr a copy of what it was. Raises OSError.
    """
    with (
        open(path or os.devnull, "a", encoding="utf-8", errors="backslashreplace") as log,
        os.fdopen(os.dup(STDERR), "w", buffering=1, errors="backslashreplace") as terminal,
        redirect_stderr(terminal),
    ):
        os.dup2(log.fileno(), STDERR)
        try:
            yield log
        finally:
            os.dup2(terminal.fileno(), STDERR)


@contextmanager
def log_to_stderr() -> Iterator[TextIO]:
    """A log that is read as it comes."""
    yield sys.stderr
