"""The options of `animegan s3 …`."""

from __future__ import annotations

from pathlib import Path

from infra import s3_commands
from infra.arguments import MEMORY_MB, Adder, arn, new, positive, seconds, suffixes, whole

EPILOG = """\
Without --start nothing is written to AWS: the bucket is listed, and what would be done is printed. OUTPUT_PREFIX,
OUTPUT_BUCKET, MAX_INPUT_BYTES and STYLE are read from the environment; give them the function's values.

--engine batch uploads a manifest and creates a job of S3 Batch Operations. --engine map starts a Step Functions
state machine with a Distributed Map, its input {"bucket", "prefix"}; this version has no template that defines
one, so it has to be yours. The same start twice is one job.
"""


def add(adder: Adder) -> None:
    top = adder.add_parser("s3", help="work on whole buckets", description="Work on whole buckets.")
    _backfill(top.add_subparsers(metavar="COMMAND", required=True))


def _backfill(adder: Adder) -> None:
    command = new(
        adder,
        "backfill",
        s3_commands.backfill,
        "convert what a bucket has already, on AWS's own engines; a dry run unless --start",
        "the plan as a JSON object",
    )
    command.epilog = EPILOG
    add = command.add_argument
    add("source", metavar="s3://BUCKET[/PREFIX]", help="the photos")
    add("--start", action="store_true", help="really start it")
    add("--style", metavar="NAME", help="default: the function's")
    add("--suffix", type=suffixes, default=(), metavar=".jpg,.png", help="only keys that end so, in either case")
    add("--skip-converted", action="store_true", help="leave out photos with a picture newer than they are")
    _engine(command.add_argument_group("the engine"))
    _estimate(command.add_argument_group("the estimate"))


def _engine(group: s3_commands.Group) -> None:
    add = group.add_argument
    add("--engine", choices=("batch", "map"), default="batch", help="default batch")
    add("--function", type=arn("function"), metavar="ARN", help="batch: the function")
    add("--role", type=arn("role"), metavar="ARN", help="batch: the role that the job acts in")
    add("--manifest", metavar="s3://…", help="batch: folder of manifests; default: backfill/ where pictures go")
    add("--report", metavar="s3://…", help="batch: folder of reports on failed tasks; default: that of manifests")
    add("--yes", action="store_true", help="batch: run at once, without a confirmation in the console")
    add("--state-machine", type=arn("state machine"), metavar="ARN", help="map: the state machine")
    add("--attempt", type=whole(1), default=1, metavar="N", help="2, 3, …: a new job of the same")


def _estimate(group: s3_commands.Group) -> None:
    from infra.estimate import GB_SECOND

    measured = group.add_mutually_exclusive_group().add_argument
    measured("--seconds-per-picture", type=seconds, metavar="S", help="what a conversion takes")
    measured("--log", type=Path, metavar="FILE", help="the function's log lines; without both, measured here")
    add = group.add_argument
    add("--memory", type=whole(*MEMORY_MB), default=1769, metavar="MB", help="the function's; default 1769")
    add("--concurrency", type=whole(1), default=100, metavar="N", help="conversions at a time; default 100")
    price = f"default {GB_SECOND:.10f}, x86 in us-east-1"
    add("--price-per-gb-second", type=positive, default=GB_SECOND, metavar="USD", help=price)
