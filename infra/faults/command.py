"""`animegan bench diagnose`: faults made in the real server and the emulator, and whether their logs show them."""

from __future__ import annotations

import signal
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from infra import progress
from infra.arguments import Adder, new
from infra.bench import verdicts
from infra.bench.installed import require
from infra.errors import BadRequest, ToolError
from infra.faults.disturbance import Disturbed, wait_until_quiet
from infra.faults.kept import Label, has, kept, make
from infra.faults.plan import CAUSES, planned
from infra.faults.scenario import Run, Set
from infra.text import explained, shown

SETS: tuple[Set, ...] = ("held", "tune")
ATTEMPTS = 3  # at a run that others disturbed
EPILOG = """\
Each run starts `animegan serve` or environments of the emulator, sends photos to them, makes a fault half-way, and
keeps all that they print. The rules of `animegan diagnose` were made with the set `tune`; the set `held` has other
strengths, photos and traffic. With --keep, runs that are there already are not made again. Everything runs on two
CPUs, which nothing else should use meanwhile. The exit code is 1 if a verdict fails. Linux only; needs the extras
cli, report and s3.
"""


def add(adder: Adder) -> None:
    help = "faults made on purpose: whether animegan diagnose names them"
    command = new(adder, "diagnose", run, help, "as a JSON object, with every run")
    command.epilog = EPILOG
    add = command.add_argument
    add("--set", choices=(*SETS, "both"), help="default: held; with --judge, both")
    add("--only", choices=CAUSES, action="append", metavar="CAUSE", help=f"repeatable; {', '.join(CAUSES)}")
    add("--keep", type=Path, metavar="DIR", help="keep logs and labels in DIR, one folder per run")
    add("--limit", type=float, metavar="MINUTES", help="start no run after that; with --keep, go on another time")
    add("--noisy", action="store_true", help="take runs too during which other processes took over 0.2 CPUs")
    add("--plan", action="store_true", help="print the runs and do nothing")
    add("--judge", type=Path, metavar="DIR", help="make no runs: judge those that were kept in DIR")


def run(args: Namespace) -> int:
    """Raises BadRequest, NotInstalled."""
    args.set = args.set or ("both" if args.judge else "held")
    runs = [one for one in _wanted(args.set) if not args.only or one.cause in args.only]
    if args.plan:
        print("\n".join(f"{one.name}: {one.strength['of']} on {one.scenario.target}" for one in runs))
        return 0
    if args.judge:
        return _judge(args.judge, args, [])
    require("uvicorn", "moto", "polars", "msgspec", "ijson", "scipy", extra="cli,report,s3")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what was started is stopped
    with ExitStack() as stack:
        where = args.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="animegan-faults-")))
        where.mkdir(parents=True, exist_ok=True)
        styles = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="animegan-styles-")))
        failed = list(_make(runs, where, styles, args))
        return _judge(where, args, failed)


def _wanted(name: str) -> list[Run]:
    return [one for set in SETS if name in (set, "both") for one in planned(set)]


def _make(runs: Sequence[Run], where: Path, styles: Path, args: Namespace) -> Iterator[str]:
    """Make those that are not kept yet; gives why some could not be made."""
    from infra.faults.styles import lay_out

    left = [one for one in runs if not has(one, where, args.noisy)]
    progress.plain(f"animegan: {len(left)} runs to make, {len(runs) - len(left)} are there")
    lay_out(styles)
    begun = time.monotonic()
    for number, one in enumerate(left, 1):
        if args.limit and time.monotonic() - begun > 60 * args.limit:
            yield f"{len(left) - number + 1} runs, for want of time"
            return
        try:
            label = _made(one, where, styles, args.noisy)
        except (ToolError, OSError) as error:
            progress.plain(f"animegan: {explained(error)}")
            yield explained(error)
            continue
        still = (len(left) - number) * (time.monotonic() - begun) / number
        progress.plain(f"animegan: {number} of {len(left)}: {_line(one, label)}; about {still / 60:.0f} min left")


def _made(run: Run, where: Path, styles: Path, noisy: bool) -> Label:
    """Again where the machine was not quiet: what others do is over in a while, or it has to be ended."""
    from infra.faults.styles import check_float32_is_slower

    if run.cause == "slower_style":
        check_float32_is_slower()
    for _ in range(ATTEMPTS - 1):
        try:
            return make(run, where, styles, noisy)
        except Disturbed as error:
            progress.plain(f"animegan: {error}; again")
            wait_until_quiet()
    return make(run, where, styles, noisy)


def _line(run: Run, label: Label) -> str:
    seen = " → ".join(f"{ms:,.0f}" for ms in label.seen["medians_ms"])
    return f"{run.name} {run.strength['of']}: {seen} ms"


def _judge(where: Path, args: Namespace, failed: list[str]) -> int:
    """All that is kept there, whether it was made now or before."""
    from infra.faults.judge import judge
    from infra.faults.report import Report

    if not where.is_dir():
        raise BadRequest(f"{shown(where)} is no folder")
    labelled = [
        (log, label)
        for log, label in kept(where)
        if label.cause in (args.only or CAUSES) and args.set in (label.set, "both")
    ]
    if not labelled:
        raise BadRequest(f"{shown(where)} has no run to judge")
    loads = [float(label.machine["load before"]) for _, label in labelled]
    described = {**labelled[0][1].machine, "load before": f"{min(loads):.2f} to {max(loads):.2f}"}
    return verdicts.tell(Report(described, [judge(*one) for one in labelled], failed), args.json)
