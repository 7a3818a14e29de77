"""The options of `animegan bench …`."""

from __future__ import annotations

from pathlib import Path

from infra.arguments import MEMORY_MB, Adder, new, whole
from infra.bench import commands, endurance, faces, reporting
from infra.faults import command as faults

IMAGE_EPILOG = """\
Needs docker, an engine that runs, and the image: make image. Containers are limited as Lambda limits a function of
that size: memory, CPU time, read-only, another user, no network, no /dev/shm. Every figure is of fresh containers,
and what is compared takes turns. --with LD_PRELOAD= measures the image once more without its allocator, and so on.
"""
ENGINE_EPILOG = """\
The rivals are in the extra `bench`: .venv/bin/pip install -e '.[bench]'. Those that are not installed, or that
need instructions this processor lacks, are left out. Ours has tcmalloc preloaded, as in the image, if it is here.
"""
OVERHEAD_EPILOG = """\
Conversions with and without recorder and log line take turns; a third in each turn has both timed in place. The
exit code is 1 if they cost over 1 ms or 0.2 % of a conversion. Smaller photos have a larger share.
"""


def add(adder: Adder) -> None:
    top = adder.add_parser("bench", help="measure, and print machine and versions", description="Measure.")
    commands_of = top.add_subparsers(metavar="COMMAND", required=True)
    _image(commands_of)
    _engine(commands_of)
    _overhead(commands_of)
    faces.add(commands_of)
    endurance.add(commands_of)
    reporting.add(commands_of)
    faults.add(commands_of)


def _image(adder: Adder) -> None:
    command = new(
        adder,
        "image",
        commands.image,
        "size, cold start, conversions and memory of the container image",
        "as a JSON object",
    )
    command.epilog = IMAGE_EPILOG
    add = command.add_argument
    add("--image", default="animegan", metavar="NAME", help="default: animegan")
    add("--rounds", type=whole(1), default=5, metavar="N", help="fresh containers of each kind; default 5")
    add("--times", type=whole(1), default=3, metavar="N", help="warm conversions in each; default 3")
    add("--side", type=whole(64, 4096), default=1024, metavar="PIXELS", help="of the square photo; default 1024")
    add(
        "--memory",
        type=whole(*MEMORY_MB),
        nargs="+",
        default=[1769],
        metavar="MB",
        help="of the function, with the CPUs that Lambda gives for that; default 1769; more than one are compared",
    )
    add(
        "--with",
        dest="variants",
        action="append",
        default=[],
        metavar="NAME=VALUE[,…]",
        help="compare with these variables set; may be repeated",
    )


def _engine(adder: Adder) -> None:
    command = new(
        adder,
        "engine",
        commands.engine,
        "the network beside the engines one would take instead",
        "as a JSON object",
    )
    command.epilog = ENGINE_EPILOG
    add = command.add_argument
    add("--size", type=whole(64, 2048), default=512, metavar="PIXELS", help="of the square picture; default 512")
    add("--threads", type=whole(1), metavar="N", help="default: as many as there are CPUs")
    add("--rounds", type=whole(1), default=3, metavar="N", help="fresh processes of each engine; default 3")
    add("--times", type=whole(1), default=5, metavar="N", help="pictures in each; default 5")
    add(
        "--photo",
        type=Path,
        action="append",
        dest="photos",
        metavar="FILE",
        help="to compare pictures; repeatable",
    )
    add("--only", action="append", metavar="TEXT", help="engines with this in their name, and the reference")
    add("--plot", type=Path, metavar="FILE.png", help="the medians as bars")


def _overhead(adder: Adder) -> None:
    help = "what the stage recorder and the log line cost a conversion"
    command = new(adder, "overhead", commands.overhead, help, "as a JSON object, with every conversion")
    command.epilog = OVERHEAD_EPILOG
    add = command.add_argument
    add("--side", type=whole(32, 4096), default=512, metavar="PIXELS", help="of the square photo; default 512")
    add("--pairs", type=whole(1), default=30, metavar="N", help="conversions of each kind; default 30")
