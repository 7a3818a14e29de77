"""Reads sources one after the other into one table, in pieces, so that a log may be larger than memory."""

from __future__ import annotations

import gc
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import ijson
import polars as pl

from infra import progress
from infra.logs import columns, files, formats
from infra.logs.counts import Counted, Read
from infra.logs.parse import Broken, Foreign, parse, stream_before
from infra.text import shown

PIECE = 10_000  # rows that wait to become a part of the table, 2 KB each
# Exports to S3: TASK/STREAM/000000.gz, the stream's slashes as dashes.
EXPORTED = re.compile(r"\d{6}\.gz")


@dataclass(frozen=True, slots=True)
class Logs:
    """`frame` has the columns of SCHEMA, one row per line of ours, sorted by `at`."""

    frame: pl.DataFrame
    counted: Counted


def load(
    sources: Sequence[str],
    since: datetime | None = None,
    until: datetime | None = None,
    say: progress.Say = progress.plain,
    only: Collection[str] | None = None,
) -> Logs:
    """Everything from `since` up to, and without, `until`; both have a time zone. `-` is stdin.

    `say` gets a line for each source that could not be read to its end; what came before counts. `only`
    these columns, besides `at` and `environment`, are made. Raises BadLog.
    """
    counted = Counted()
    pieces = _Pieces(columns.Shape(only))
    reader = _Reader(_ms(since, 0), _ms(until, 1 << 62), pieces)
    with _no_collection():
        for source in files.found(sources):
            read = Read(shown(source))
            counted.sources.append(read)
            reader.read(source, read)
            if read.stopped:
                say(f"{read.source}: {read.stopped}")
    return Logs(pieces.table(), counted)


class _Pieces:
    """Rows, turned into columns a piece at a time: as Python's objects they take ten times as much memory."""

    def __init__(self, shape: columns.Shape) -> None:
        self.shape = shape
        self._rows: list[tuple[Any, ...]] = []
        self._done: list[pl.DataFrame] = []

    def add(self, row: tuple[Any, ...]) -> None:
        self._rows.append(row)
        if len(self._rows) >= PIECE:
            self._done.append(self.shape.table(self._rows))
            self._rows.clear()

    def table(self) -> pl.DataFrame:
        whole = pl.concat([*self._done, self.shape.table(self._rows)], rechunk=False)
        self._done.clear()
        return _sorted(whole)


class _Reader:
    def __init__(self, since: int, until: int, pieces: _Pieces) -> None:
        self._since, self._until, self._pieces = since, until, pieces
        self._row_of = pieces.shape.row_of

    def read(self, source: str, read: Read) -> None:
        with files.opened(source) as file:
            try:
                if files.is_binary(file.peek(formats.HEAD)[:512]):
                    read.stopped = "this is no text, and was left out"
                    return
                self._take(formats.messages(file), read, _exported_stream(source))
            except ijson.JSONError as error:
                read.broken, read.stopped = read.broken + 1, f"this JSON ends too soon ({error})"
            except files.DAMAGED as error:
                read.broken, read.stopped = read.broken + 1, f"this is damaged, or not complete ({error})"

    def _take(self, messages: Iterator[tuple[str | None, bytes]], read: Read, folder: str | None) -> None:
        for stream, data in messages:
            try:
                line = parse(data)
            except Foreign:
                read.foreign += 1
                continue
            except Broken:
                read.broken += 1
                continue
            if not self._since <= line.aws.timestamp < self._until:
                read.outside(line.aws.timestamp)
                continue
            row = self._row_of(line)
            if row[0] is None:
                row = (stream or stream_before(data) or folder, *row[1:])
            read.ours += 1
            self._pieces.add(row)


def _sorted(table: pl.DataFrame) -> pl.DataFrame:
    """By time, column by column: sorting the whole at once would need it twice."""
    order = table["at"].arg_sort() if not table["at"].is_sorted() else None
    for index in range(table.width):
        column = table.to_series(index)
        table.replace_column(index, column.rechunk() if order is None else column.gather(order))
    return table.with_columns(pl.col("at").set_sorted())


@contextmanager
def _no_collection() -> Iterator[None]:
    """Rows have no cycles, and looking for some in ten thousand of them again and again is a tenth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _exported_stream(source: str) -> str | None:
    path = Path(source)
    return path.parent.name if EXPORTED.fullmatch(path.name) else None


def _ms(when: datetime | None, default: int) -> int:
    return default if when is None else int(when.timestamp() * 1000)
