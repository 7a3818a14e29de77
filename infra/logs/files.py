"""Sources as streams of bytes: files, folders, stdin, packed or not."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from infra.errors import BadLog
from infra.text import reason, shown

STDIN = "-"
GZIP = b"\x1f\x8b"
UTF16 = b"\xff\xfe", b"\xfe\xff"  # what `>` writes in Windows PowerShell
BUFFER = 1 << 20
# What a damaged or unfinished gzip file ends in (docs of the gzip module).
DAMAGED = (EOFError, zlib.error, OSError)


def found(sources: Sequence[str]) -> list[str]:
    """Files in the order given, folders searched through by name, each file once. Raises BadLog."""
    files: dict[str, None] = {}
    for source in sources:
        if source == STDIN:
            files[STDIN] = None
        elif Path(source).is_dir():
            files |= dict.fromkeys(_inside(Path(source)))
        elif Path(source).exists():
            files[os.path.realpath(source)] = None
        else:
            raise BadLog(f"{shown(source)}: no such file or folder")
    return list(files)


@contextmanager
def opened(source: str) -> Iterator[io.BufferedReader]:
    """Unpacked, whatever the name says. Raises BadLog."""
    if source == STDIN:
        yield _unpacked(sys.stdin.buffer)
        return
    with _file(source) as file:
        yield _unpacked(file)


def is_binary(head: bytes) -> bool:
    """Text has no zero bytes; photos beside a log, and its index, have."""
    return b"\0" in head


def _inside(folder: Path) -> Iterator[str]:
    """Raises BadLog where a folder may not be read, or has no files."""

    def refuse(error: OSError) -> None:
        raise BadLog(f"{shown(error.filename)}: {reason(error)}") from error

    empty = True
    for base, folders, names in os.walk(folder, onerror=refuse):
        folders.sort()
        for name in sorted(names):
            path = os.path.realpath(os.path.join(base, name))
            if not name.startswith(".") and os.path.isfile(path):  # no sockets or pipes: they would be waited for
                empty = False
                yield path
    if empty:
        raise BadLog(f"{shown(folder)}: there is no file in this folder")


def _file(source: str) -> BinaryIO:
    try:
        return open(source, "rb", buffering=BUFFER)
    except OSError as error:
        raise BadLog(f"{shown(source)}: {reason(error)}") from error


def _unpacked(raw: BinaryIO) -> io.BufferedReader:
    file = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, raw), BUFFER)
    if file.peek(2)[:2] == GZIP:
        # Not GzipFile itself as what is buffered: it waits for a whole buffer, and loses it at damage.
        file = io.BufferedReader(_Raw(gzip.GzipFile(fileobj=file).read1), BUFFER)
    if file.peek(2)[:2] in UTF16:
        text = io.TextIOWrapper(file, "utf-16", errors="replace", newline="")
        file = io.BufferedReader(_Raw(lambda size: text.read(size // 4).encode(errors="replace")), BUFFER)
    return file


class _Raw(io.RawIOBase):
    """What `read` gives, at most as many bytes as it is asked for, none at the end."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
