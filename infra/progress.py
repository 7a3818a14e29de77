"""A progress bar on stderr where that is a terminal, and lines that do not break it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from infra import interrupts
from infra.pace import Pace

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

Say = Callable[[str], None]
Advance = Callable[[int, int | None], None]  # how far, of how much if known
LINE_EVERY_S = 30.0


def plain(line: str) -> None:
    """One line on stderr."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def bar(
    label: str, *, shown: bool = True, in_bytes: bool = False, lines: bool = False
) -> Iterator[tuple[Say, Advance]]:
    """A bar while the block runs, with rate and time left.

    Gives a function that prints a line above it, and one that moves it. `lines` tells of long work where there is
    no terminal, too: a line every half minute.
    """
    if not (shown and sys.stderr.isatty()):
        yield plain, _lines(label) if lines and shown else lambda done, total: None
        return
    # Imported here: it costs 0.1 s that only a terminal needs to pay.
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True)
    pace = Pace()
    amount = progress.DownloadColumn() if in_bytes else progress.MofNCompleteColumn()
    speed = (progress.TransferSpeedColumn(), progress.TimeRemainingColumn()) if in_bytes else (_column(pace),)
    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), amount, *speed)
    # stdout is for data: rich would reroute it to this console.
    display = progress.Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    )
    with interrupts.last(display.stop), display:
        task = display.add_task(label, total=None)

        def advance(done: int, total: int | None) -> None:
            pace.step(done, total)
            display.update(task, completed=done, total=total)

        yield lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True), advance


def _column(pace: Pace) -> ProgressColumn:
    """rich's own forget what is older than half a minute, and one frame of a video may take that."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(str(pace), style="progress.remaining")

    return Speed()


def _lines(label: str, clock: Callable[[], float] = time.monotonic) -> Advance:
    pace, said = Pace(clock), clock()

    def advance(done: int, total: int | None) -> None:
        nonlocal said
        pace.step(done, total)
        if clock() - said >= LINE_EVERY_S:
            said = clock()
            plain(f"{label}: {done}" + (f" of {total}" if total else "") + (f", {pace}" if str(pace) else ""))

    return advance
