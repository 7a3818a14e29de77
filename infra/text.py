"""File names and figures as a terminal may show them."""

from __future__ import annotations

import os


def shown(name: object) -> str:
    """A file name in one line: control characters and undecodable bytes escaped, all else as it is."""
    text = str(name)
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def counted(number: int, noun: str) -> str:
    """`1 line`, `2,000 lines`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def reason(error: OSError) -> str:
    """An OSError without its errno and Python's quotes: `No such file or directory`."""
    return error.strerror or str(error) or type(error).__name__


def explained(error: Exception) -> str:
    """An exception in one line; an OSError with the file that it is about."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{shown(os.fsdecode(error.filename))}: {reason(error)}"
    return reason(error) if isinstance(error, OSError) else str(error)
