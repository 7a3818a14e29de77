"""`animegan diagnose LOG…`."""

from __future__ import annotations

import json
from argparse import Namespace, RawDescriptionHelpFormatter

from infra import progress
from infra.arguments import Adder, new
from infra.logs import options

FOUND = 3  # exit code: a cause was found, which a script can tell from an error
EPILOG = """
Exit codes: 0 no change, or not enough data to tell; 3 a cause was found; 1 the log could not be read.
docs/diagnose.md says what each cause is told by, and what --json prints.
"""


def add(adder: Adder) -> None:
    help = "say whether conversions got slower, since when, and why"
    command = new(adder, "diagnose", diagnose, help, "as one JSON object")
    options.add(command)
    command.epilog = (command.epilog or "") + EPILOG
    command.formatter_class = RawDescriptionHelpFormatter


def diagnose(args: Namespace) -> int:
    """3 if a cause was found, else 0. Raises BadLog, BadRequest, NotInstalled."""
    logs = options.read(args)
    from infra.diagnose import diagnose
    from infra.diagnose.text import as_text

    found = diagnose(logs.frame)
    if args.json:
        print(json.dumps(found.as_dict()))
    else:
        progress.plain(f"animegan: {logs.counted.said()}")
        print(as_text(found))
    return FOUND if found.slow else 0
