"""A progress bar on stderr where that is a terminal, and lines that do not break it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Say = Callable[[str], None]
Advance = Callable[[int, int | None], None]  # how far, of how much if known


def plain(line: str) -> None:
    """One line on stderr."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def bar(label: str, *, shown: bool = True, in_bytes: bool = False) -> Iterator[tuple[Say, Advance]]:
    """A bar while the block runs. Gives a function that prints a line above it, and one that moves it."""
    if not (shown and sys.stderr.isatty()):
        yield plain, lambda done, total: None
        return
    # Imported here: it costs 0.1 s that only a terminal needs to pay.
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    amount = progress.DownloadColumn() if in_bytes else progress.MofNCompleteColumn()
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        amount,
        progress.TimeRemainingColumn(),
    )
    # stdout is for data: rich would reroute it to this console.
    with progress.Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as display:
        task = display.add_task(label, total=None)
        yield (
            lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True),
            lambda done, total: display.update(task, completed=done, total=total),
        )
