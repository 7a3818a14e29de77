"""`animegan doctor`, on the terms of infra/commands.py."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from infra import progress
from infra.arguments import MEMORY_MB, Adder, new, whole

if TYPE_CHECKING:
    from handler.settings import Settings
    from infra.doctor.checks import Check, Look, Patient

EPILOG = """\
Starts the function in a process of its own, in this environment, converts a few made-up photos, the last of
--side pixels, and looks at what came of it. --memory takes the threads of a Lambda function of that size and
judges memory by it. The exit code is 1 if a check fails; warnings are what makes it slower than it could be.
"""
MOST_SIDE = 1024  # a conversion of it takes seconds; what is larger is extrapolated


def add(adder: Adder) -> None:
    help = "check whether this environment lets the function be fast"
    command = new(adder, "doctor", doctor, help, "as a JSON object")
    command.epilog = EPILOG
    size = "of the largest photo that is tried; default MAX_SIDE, at most 1024"
    command.add_argument("--side", type=whole(64, 4096), metavar="PIXELS", help=size)
    memory = "judge as for a Lambda function of this size"
    command.add_argument("--memory", type=whole(*MEMORY_MB), metavar="MB", help=memory)


def doctor(args: Namespace) -> int:
    """1 if a check fails."""
    from infra.bench import machine
    from infra.doctor.checks import State, examine

    environment = dict(os.environ)
    if args.memory:
        environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = str(args.memory)
    checks = examine(patient(environment, args.side), looks())
    if args.json:
        print(json.dumps({"machine": machine.described(), "checks": [asdict(one) for one in checks]}, indent=2))
    else:
        print(as_text(checks))
    return 1 if any(one.state is State.FAIL for one in checks) else 0


def patient(environment: Mapping[str, str], side: int | None) -> Patient:
    """With the trial made; nothing that is wrong in the environment is raised."""
    from handler.errors import SettingsError
    from handler.settings import Settings
    from infra.doctor import machine, trial_run
    from infra.doctor.checks import Patient

    try:
        settings: Settings | None = Settings.from_environment()
    except SettingsError:
        settings = None
    if settings:
        _prepare(settings)
    progress.plain("animegan: converting a few photos made up for this; some seconds")
    before = machine.throttled()
    trial = trial_run.run(side or min(settings.max_side if settings else 64, MOST_SIDE), environment)
    facts = {**trial.facts, "throttled": machine.throttled() - before}
    return Patient(environment, settings, trial_run.Trial(facts, trial.code, trial.stderr))


def _prepare(settings: Settings) -> None:
    """Freeze the built-in style if it never was, as every command does. What hinders that becomes a finding."""
    from infra import styles
    from infra.text import explained, shown

    try:
        styles.prepare(settings.style, settings.styles_dir, progress.plain)
    except Exception as error:
        progress.plain(f"animegan: {shown(explained(error))[:300]}")


def looks() -> Sequence[tuple[str, Look]]:
    """In the order in which they matter."""
    from infra.doctor import function, memory, operators, resources, start

    return (
        ("settings", function.settings),
        ("style", function.style),
        ("function", start.start),
        ("frozen module", function.frozen),
        ("inference mode", function.inference_mode),
        ("precision", function.precision),
        ("operators", operators.operators),
        ("threads", resources.threads),
        ("thread variables", resources.thread_variables),
        ("CPU", resources.cpu),
        ("CPU quota", resources.quota),
        ("allocator", resources.allocator),
        ("kernel cache", resources.kernel_cache),
        ("warm-up", function.warm_up),
        ("memory", memory.memory),
        ("limits", memory.limits),
        ("OpenCV's limit", resources.opencv_limit),
        ("/tmp", resources.tmp),
        ("log line", function.log_line),
        ("S3", resources.s3),
    )


def as_text(checks: Sequence[Check]) -> str:
    """A line for each, and beneath it what to change."""
    width = max(len(one.name) for one in checks)
    lines = []
    for one in checks:
        lines.append(f"{one.state:<7}  {one.name:<{width}}  {one.measured}")
        lines += [f"{'':<7}  {'':<{width}}  -> {one.change}"] if one.change else []
    counts = Counter(one.state for one in checks)
    return "\n".join([*lines, "", ", ".join(f"{number} {state}" for state, number in counts.items())])
