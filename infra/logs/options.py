"""What every command that reads logs takes: LOG…, --since, --until."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from infra import progress
from infra.arguments import moment
from infra.errors import BadLog, BadRequest
from infra.logs.needs import require
from infra.logs.when import shown

if TYPE_CHECKING:
    from infra.logs import Logs

EPILOG = """\
LOG is a file, a folder, or - for stdin, packed with gzip or not: what animegan serve and convert --log write,
aws logs tail, aws logs filter-log-events, results of Logs Insights (get-query-results, or the console's CSV or
JSON), subscriptions, and exports to S3. Lines of others are left out and counted. TIME is 2026-11-30 (its
midnight), 2026-11-30T14:00, or how long ago: 30m, 24h, 7d. All times are UTC, unless TIME has another zone.
"""


def add(command: argparse.ArgumentParser) -> None:
    command.epilog = EPILOG
    command.add_argument("logs", nargs="+", metavar="LOG", help="a file, a folder, - for stdin")
    command.add_argument("--since", type=moment, metavar="TIME", help="lines from then on")
    command.add_argument("--until", type=moment, metavar="TIME", help="lines before then, without that moment")


def read(args: argparse.Namespace, only: Collection[str] | None = None) -> Logs:
    """`only` as for load(). Raises BadRequest, NotInstalled, and BadLog where there is no line of ours."""
    if args.since and args.until and args.since >= args.until:
        raise BadRequest(f"--since {shown(args.since)} is not before --until {shown(args.until)}")
    require()
    from infra.logs import load

    logs = load(args.logs, args.since, args.until, lambda line: progress.plain(f"animegan: {line}"), only)
    if logs.frame.is_empty():
        raise BadLog(_nothing(logs, args.since, args.until))
    return logs


def _nothing(logs: Logs, since: datetime | None, until: datetime | None) -> str:
    counted = logs.counted
    if there := counted.outside():
        asked = [f"from {shown(since)}" if since else "", f"before {shown(until)}" if until else ""]
        spread = f"the {counted.out_of_range:,} there are go from {shown(there[0])} to {shown(there[1])}"
        return f"no log line {' and '.join(filter(None, asked))}; {spread}"
    if not counted.lines:
        return "there is nothing in this log" if len(counted.sources) == 1 else "there is nothing in these logs"
    return f"no log line of the function among {counted.lines:,} lines ({counted.broken:,} broken)"
