"""What the command line's options are made of: a command, texts that become numbers, ARNs and more."""

from __future__ import annotations

import argparse
import difflib
import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Adder: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Command = Callable[[argparse.Namespace], int]
MEMORY_MB = (128, 10_240)  # what Lambda offers
# As `aws logs tail --since` has them.
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
# As the APIs themselves check them.
ARNS = {
    "function": r"arn:aws[a-z-]*:lambda:[a-z0-9-]+:\d{12}:function:[\w-]+(:(\$LATEST|[\w-]+))?",
    "role": r"arn:aws[a-z-]*:iam::\d{12}:role/.+",
    "state machine": r"arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:stateMachine:.+",
}


def new(adder: Adder, name: str, run: Command, help: str, json: str | None = None) -> argparse.ArgumentParser:
    command = adder.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
    command.add_argument("--debug", action="store_true", help="show tracebacks")
    if json:
        command.add_argument("--json", action="store_true", help=json)
    command.set_defaults(run=run, parser=command)
    return command


def parsed(top: argparse.ArgumentParser, texts: Sequence[str] | None) -> argparse.Namespace:
    """As parse_args, but unknown options are told with the usage of their command, and the nearest it has."""
    args, unknown = top.parse_known_args(texts)
    if unknown:
        command: argparse.ArgumentParser = args.parser
        options = [option for option in command._option_string_actions if option.startswith("--")]
        near = [difflib.get_close_matches(text.partition("=")[0], options, 1) for text in unknown]
        hints = "".join(f"; did you mean {found[0]}?" for found in near if found)
        command.error(f"unrecognized arguments: {' '.join(unknown)}{hints}")
    return args


def whole(least: int, most: float = math.inf) -> Callable[[str], int]:
    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
        if not least <= value <= most:
            limit = "" if most == math.inf else f", and at most {most}"
            raise argparse.ArgumentTypeError(f"{value} is not {least} or more{limit}")
        return value

    return number


def seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= 900:  # Lambda's longest
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and at most 900")
    return value


def picture_format(text: str) -> str:
    return {"jpg": "jpeg"}.get(text.lower(), text.lower())


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def arn(kind: str) -> Callable[[str], str]:
    """`kind` is one of ARNS."""

    def checked(text: str) -> str:
        if not re.fullmatch(ARNS[kind], text):
            raise argparse.ArgumentTypeError(f"{text!r} is not the ARN of a {kind}")
        return text

    return checked


def suffixes(text: str) -> tuple[str, ...]:
    """`.jpg,png` -> (".jpg", ".png"), in lower case."""
    named = [part for part in (part.strip().lower() for part in text.split(",")) if part.strip(".")]
    if not named:  # which would let all through
        raise argparse.ArgumentTypeError(f"{text!r} names no suffix")
    return tuple(part if part.startswith(".") else f".{part}" for part in named)


def moment(text: str) -> datetime:
    """`2026-11-30`, `2026-11-30T14:02`, `…+01:00`, or how long ago: `30m`, `2h`, `3d`. UTC without a zone."""
    try:
        if ago := re.fullmatch(r"(\d+)([smhdw])", text):
            return datetime.now(UTC) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        when = datetime.fromisoformat(text)
        return when if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        how = "give 2026-11-30T14:02, or 2h for two hours ago"
        raise argparse.ArgumentTypeError(f"{text!r} is no time: {how}") from None
