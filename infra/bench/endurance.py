"""`animegan bench soak` and `animegan bench load`: what many conversions, and many clients, do to each other."""

from __future__ import annotations

import math
import os
from argparse import Namespace
from pathlib import Path

from infra import progress
from infra.arguments import Adder, new, seconds, whole
from infra.bench import machine, verdicts
from infra.bench.installed import require
from infra.errors import BadRequest

SOAK_EPILOG = """\
Verdicts: latency per pixel does not rise (Theil-Sen, 95 %) after the first 200; memory, threads and descriptors
are no more than in the first 100, memory within 2 %. The first photo is the largest there can be. The exit code
is 1 if one fails. Needs SciPy: pip install 'animegan-lambda[bench]'. For the image's allocator here,
LD_PRELOAD=…/libtcmalloc_minimal.so.4 TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=4194304 animegan bench soak.
"""
LOAD_EPILOG = """\
Starts `animegan serve` in a process of its own, and lets clients ask for conversions of one photo, each anew as
soon as it has its picture, in turns with one client alone. The exit code is 1 if a verdict fails. --compare
measures the same CPUs shared out otherwise too: a slot per CPU, and a process per CPU, as Lambda's workers are.
"""


def add(adder: Adder) -> None:
    _soak(adder)
    _load(adder)


def soak(args: Namespace) -> int:
    """Raises BadRequest, NotInstalled."""
    from handler.settings import Settings
    from infra import styles
    from infra.bench.soak import soak as run
    from infra.bench.soak_report import Report

    if args.min_side > args.max_side:
        raise BadRequest(f"--min-side {args.min_side} is above --max-side {args.max_side}")
    require("scipy", *(["matplotlib"] if args.plot else []))
    settings = Settings.from_environment()
    styles.prepare(settings.style, settings.styles_dir, progress.plain)
    with progress.bar("converting") as (_, advance):
        sizes = (args.min_side, args.max_side)
        found = run(args.conversions, sizes, args.seed, lambda done: advance(done, args.conversions))
    report = Report({**machine.described(), "preloaded": os.environ.get("LD_PRELOAD") or "nothing"}, found)
    if args.plot:
        report.plot(args.plot)
    return verdicts.tell(report, args.json)


def load(args: Namespace) -> int:
    """Raises BadRequest."""
    from handler import cpu
    from infra.bench.load import Load
    from infra.bench.load_report import Report
    from infra.bench.server import Arrangement

    threads = args.threads or math.ceil(cpu.vcpus())
    arrangements = [Arrangement(1, args.slots, threads)]
    if args.compare:
        arrangements += [Arrangement(1, threads, 1), Arrangement(threads, 1, 1)]
    asked = Load(args.clients, args.seconds, args.rounds, args.size, args.queue)
    report = Report.of(machine.described(), asked, asked.measure(arrangements, progress.plain))
    return verdicts.tell(report, args.json)


def _soak(adder: Adder) -> None:
    help = "many conversions in one process: whether latency, memory, threads or files grow"
    command = new(adder, "soak", soak, help, "as a JSON object, with every conversion")
    command.epilog = SOAK_EPILOG
    add = command.add_argument
    add("--conversions", type=whole(10), default=1000, metavar="N", help="default 1000")
    add("--min-side", type=whole(32, 8192), default=128, metavar="PIXELS", help="of the photos; default 128")
    add("--max-side", type=whole(32, 8192), default=512, metavar="PIXELS", help="of the photos; default 512")
    add("--seed", type=whole(0), default=0, metavar="N", help="of sizes and photos; default 0")
    add("--plot", type=Path, metavar="FILE.png", help="latency and memory by conversion")


def _load(adder: Adder) -> None:
    help = "many clients against animegan serve: throughput, waiting, and whether a request is lost"
    command = new(adder, "load", load, help, "as a JSON object")
    command.epilog = LOAD_EPILOG
    add = command.add_argument
    add("--clients", type=whole(1, 1000), default=20, metavar="N", help="at once; default 20")
    add("--seconds", type=seconds, default=20.0, metavar="S", help="of each turn; default 20")
    add("--rounds", type=whole(1), default=3, metavar="N", help="turns of each; default 3")
    add("--size", type=whole(64, 4096), default=256, metavar="PIXELS", help="of the square photo; default 256")
    add("--threads", type=whole(1), metavar="N", help="of a conversion; default: as many as there are CPUs")
    add("--slots", type=whole(1, 64), default=1, metavar="N", help="conversions at a time; default 1")
    add("--queue", type=whole(0), default=32, metavar="N", help="how many may wait; default 32")
    add("--compare", action="store_true", help="also a slot per CPU, and a process per CPU")
