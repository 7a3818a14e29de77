"""`animegan bench report`: how long a report on a large log takes, and how much memory."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from infra import progress
from infra.arguments import Adder, new, whole
from infra.bench import machine
from infra.bench.made_up_log import lines
from infra.bench.table import pairs
from infra.bench.verdicts import Verdict, tell
from infra.errors import ToolError
from infra.logs.needs import require

MILLION = 1_000_000
MOST_SECONDS, MOST_MB = 20.0, 500.0  # for a million lines
EPILOG = """\
Makes up log lines of the length of real ones, and reports on them in a process of its own, with the page. The exit
code is 1 if it takes more than 500 MB of memory, or more than 20 s for a million lines.
"""


@dataclass(frozen=True, slots=True)
class Report:
    """Of one run. `seconds` from the start of the process to its end, `cpu` of them on a CPU; MB are 10⁶ bytes."""

    machine: dict[str, str]
    form: str
    lines: int
    megabytes: float
    seconds: float
    cpu: float
    peak_mb: float

    def as_text(self) -> str:
        log = f"{self.lines:,} lines, {self.megabytes:,.0f} MB, {self.form}"
        took = f"{self.seconds:.1f} s, of CPU time {self.cpu:.1f} s"
        return pairs({**self.machine, "log": log, "with page": took, "peak memory": f"{self.peak_mb:.0f} MB"})

    def verdicts(self) -> list[Verdict]:
        most = MOST_SECONDS * max(1, self.lines / MILLION)
        return [
            Verdict("20 s for a million lines, or for fewer", self.seconds <= most, f"{self.seconds:.1f} s"),
            Verdict("no more than 500 MB", self.peak_mb <= MOST_MB, f"{self.peak_mb:.0f} MB"),
        ]


def add(adder: Adder) -> None:
    help = "how long animegan report takes with a large log, and how much memory"
    command = new(adder, "report", report, help, "as a JSON object")
    command.epilog = EPILOG
    count = whole(1000, 100 * MILLION)
    command.add_argument("--lines", type=count, default=MILLION, metavar="N", help="default 1,000,000")
    command.add_argument("--form", choices=FORMS, default="plain", help="of the log; default plain")


def report(args: Namespace) -> int:
    """1 if it takes more than it may. Raises NotInstalled, ToolError."""
    require("rich", "jinja2", "matplotlib")
    said = machine.described()
    with tempfile.TemporaryDirectory(prefix="animegan-bench-") as folder:
        log = Path(folder) / "log"
        progress.plain(f"animegan: making up {args.lines:,} lines")
        FORMS[args.form](log, lines(args.lines))
        used = _run([sys.executable, "-m", "infra.cli", "report", str(log), "--html", f"{log}.html"])
        megabytes = log.stat().st_size / MILLION
    return tell(Report(said, args.form, args.lines, megabytes, *used), args.json)


def _run(command: list[str]) -> tuple[float, float, float]:
    """Seconds, CPU seconds and peak memory in MB of a process."""
    begun = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    child = os.posix_spawn(command[0], command, os.environ, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    if status:
        raise ToolError(f"{' '.join(command[2:])} failed with {os.waitstatus_to_exitcode(status)}")
    seconds, cpu = time.perf_counter() - begun, used.ru_utime + used.ru_stime
    # ru_maxrss is in kilobytes on Linux and in bytes on macOS (getrusage(2)).
    return seconds, cpu, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / MILLION


def _plain(path: Path, made: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(made)


def _packed(path: Path, made: Iterator[str]) -> None:
    with gzip.open(path, "wt", compresslevel=1, encoding="utf-8") as file:
        file.writelines(made)


def _events(path: Path, made: Iterator[str]) -> None:
    """As `aws logs filter-log-events` prints them."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n    "events": [')
        for index, line in enumerate(made):
            event = {"logStreamName": "2026/11/30/[$LATEST]0", "timestamp": index, "message": line}
            file.write(f"{',' * bool(index)}\n{json.dumps(event, indent=4)}")
        file.write("\n    ]\n}\n")


FORMS: dict[str, Callable[[Path, Iterator[str]], None]] = {"plain": _plain, "gzip": _packed, "events": _events}
