"""What `animegan s3 …` does, on the terms of commands.py."""

from __future__ import annotations

import argparse
import json
import tempfile
from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, BinaryIO

from infra import engines, progress, styles
from infra.aws import Address, client, told
from infra.backfill import Plan, make_plan
from infra.durations import Seconds, from_log, measured
from infra.errors import BadRequest
from infra.estimate import Terms, estimate
from infra.plan_text import as_text
from infra.reasons import Chosen

if TYPE_CHECKING:
    from handler.settings import Settings

Group = argparse._ArgumentGroup  # argparse has no public name for it
FOLDER = "backfill/"  # under OUTPUT_PREFIX, where nothing is ever converted


def backfill(args: Namespace) -> int:
    """0 if the plan was printed, and with --start if AWS has the job."""
    from handler.settings import Settings

    settings, source = Settings.from_environment(), Address.parse(args.source)
    _check(args)
    job, given = _job(args, source, settings), _given(args)
    with told(), tempfile.TemporaryFile() as manifest:
        s3 = client("s3")
        plan = _plan(args, s3, source, settings, manifest)
        said = _said(args, plan, given or _measured(args, settings))
        said |= _start(args, s3, plan, job, manifest) if args.start else _dry(args, plan, job)
    print(json.dumps(said, indent=2) if args.json else as_text(said))
    return 0


def _missing(args: Namespace) -> list[str]:
    """Options that a start needs and that were not given."""
    needed = ("function", "role") if args.engine == "batch" else ("state_machine",)
    return [f"--{name.replace('_', '-')}" for name in needed if not getattr(args, name)]


def _check(args: Namespace) -> None:
    """Raises BadRequest for options that lack others, or contradict them."""
    if args.start and (missing := _missing(args)):
        raise BadRequest(f"to start, --engine {args.engine} needs {' and '.join(missing)}")
    if args.engine == "map" and (args.suffix or args.skip_converted):
        raise BadRequest("--suffix and --skip-converted are for manifests: a state machine lists for itself")


def _job(args: Namespace, source: Address, settings: Settings) -> engines.Job:
    """Raises BadRequest if manifest or report would be taken for photos."""
    home = Address(settings.output_bucket or source.bucket, settings.output_prefix + FOLDER)
    manifest = _folder(args.manifest) or home
    report = _folder(args.report) or manifest
    for name, place in (("--manifest", manifest), ("--report", report)):
        _check_apart(name, place, source, settings)
    function, role = args.function or "(--function)", args.role or "(--role)"
    return engines.Job(function, role, manifest, report, args.style, not args.yes, args.attempt)


def _folder(text: str | None) -> Address | None:
    if not text:
        return None
    place = Address.parse(text)
    return Address(place.bucket, place.key + "/" if place.key and not place.key.endswith("/") else place.key)


def _check_apart(name: str, place: Address, source: Address, settings: Settings) -> None:
    from handler.objects import S3Object
    from handler.plan import is_output

    among = place.bucket == source.bucket and place.key.startswith(source.key)
    if among and not is_output(S3Object(place.bucket, place.key), settings):
        raise BadRequest(f"{name} {place} lies among the photos and would be taken for one: name another folder")


def _plan(args: Namespace, s3: Any, source: Address, settings: Settings, manifest: BinaryIO) -> Plan:
    chosen = Chosen(args.suffix, args.skip_converted, args.style)
    with progress.bar("listing") as (_, advance):
        return make_plan(s3, source, settings, chosen, manifest, advance)


def _given(args: Namespace) -> Seconds | None:
    """Raises BadRequest, OSError."""
    if args.seconds_per_picture:
        return Seconds(args.seconds_per_picture, "as given")
    return from_log(args.log) if args.log else None


def _measured(args: Namespace, settings: Settings) -> Seconds:
    progress.plain("animegan: measuring conversions on this machine; --log or --seconds-per-picture know Lambda's")
    styles.prepare(args.style or settings.style, settings.styles_dir, progress.plain)
    return measured(args.memory, args.style)


def _said(args: Namespace, plan: Plan, seconds: Seconds) -> dict[str, Any]:
    """Plan and estimate, as --json has them."""
    batch = args.engine == "batch"
    terms = Terms(seconds.value, args.memory, args.concurrency, batch, args.price_per_gb_second)
    cost = estimate(plan.objects, terms)
    return {
        "source": str(plan.source),
        "objects": plan.objects,
        "bytes": plan.bytes,
        "left": dict(plan.left),
        "terms": {**asdict(terms), "origin": seconds.origin},
        "estimate": {**asdict(cost), "usd": cost.usd},
        "engine": args.engine,
    }


def _dry(args: Namespace, plan: Plan, job: engines.Job) -> dict[str, Any]:
    """What a start would do, and what it lacks."""
    missing = _missing(args)
    said = {"missing": missing, "started": None}
    if args.engine == "map":
        return {"call": asdict(_execution(args, plan)), **said}
    call = job.call(plan, engines.LATER if missing else job.account())
    return {"manifest": str(job.manifest_of(plan)), "call": asdict(call), **said}


def _start(args: Namespace, s3: Any, plan: Plan, job: engines.Job, manifest: BinaryIO) -> dict[str, Any]:
    """Do it. Raises BadRequest if there is nothing to do."""
    if not plan.objects:
        raise BadRequest(f"there is nothing to convert in {plan.source}, so nothing was started")
    if args.engine == "map":
        call = _execution(args, plan)
        return {"call": asdict(call), "started": {"executionArn": call.make()["executionArn"]}}
    account = job.account()
    call = job.call(plan, account, *job.upload(s3, plan, manifest))
    started = {"jobId": call.make()["JobId"]}
    return {"manifest": str(job.manifest_of(plan)), "call": asdict(call), "started": started}


def _execution(args: Namespace, plan: Plan) -> engines.Call:
    machine = args.state_machine or "(--state-machine)"
    return engines.execution(plan, machine, args.style, args.attempt)
