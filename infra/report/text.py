"""The report in a terminal and as Markdown."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from infra.bench.table import markdown as rows_of
from infra.report.sections import Table, headline, tables
from infra.report.summary import Summary
from infra.text import shown

WIDTH = 140  # where no terminal says how wide it is, as in a pipe
# Columns that a narrow terminal goes without; the first goes first.
SPARE = ("init p50", "inference p50", "refused", "cold starts", "peak memory", "CPU", "cost")
NAME: Any = {"min_width": 10, "max_width": 32, "overflow": "fold"}
FIGURE: Any = {"justify": "right", "no_wrap": True}
# What means something in Markdown, in HTML within it, or in GitHub's own dialect.
SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&])")


def terminal(summary: Summary) -> None:
    """Prints."""
    width = None if sys.stdout.isatty() else WIDTH
    console = Console(highlight=False, markup=False, emoji=False, width=width)
    console.print(headline(summary), soft_wrap=True)
    for table in tables(summary):
        _print(console, table)


def markdown(summary: Summary) -> str:
    return "\n\n".join(["# Conversions", headline(summary), *_sections(summary)])


def escaped(text: str) -> str:
    """Names from a log as Markdown shows them, and does not heed them."""
    return SPECIAL.sub(r"\\\1", shown(text))


def _sections(summary: Summary) -> Iterator[str]:
    for table in tables(summary):
        yield f"## {table.title}"
        names = ([escaped(row[0]), *row[1:]] for row in table.rows)
        yield rows_of(table.columns, names)
        if table.note:
            yield table.note


def _print(console: Console, table: Table) -> None:
    """Without the columns that a narrow terminal has no room for."""
    columns, endless = list(range(len(table.columns))), console.options.update(max_width=1000)
    for spare in (None, *SPARE):
        columns = [index for index in columns if table.columns[index] != spare]
        drawn = _drawn(table, columns)
        if Measurement.get(console, endless, drawn).maximum <= console.width:
            break
    console.print()
    console.print(drawn)
    if table.note:
        console.print(f" {table.note}", soft_wrap=True)


def _drawn(table: Table, columns: list[int]) -> RichTable:
    drawn = RichTable(box=box.SIMPLE_HEAD, title=table.title, title_justify="left", title_style="bold")
    for index in columns:
        drawn.add_column(Text(table.columns[index]), **(FIGURE if index else NAME))
    for row in table.rows:
        drawn.add_row(*(Text(shown(row[index])) for index in columns))
    return drawn
