"""What `animegan report` does, on the terms of infra/commands.py."""

from __future__ import annotations

import json
from argparse import Namespace

from infra import progress
from infra.logs.needs import require
from infra.logs.options import read
from infra.report.figures import COLUMNS
from infra.text import shown


def report(args: Namespace) -> int:
    """0 when there was something to report. Raises BadLog, BadRequest, NotInstalled, OSError."""
    require("rich", *(("jinja2", "matplotlib") if args.html else ()))
    logs = read(args, COLUMNS)
    from infra.report import text
    from infra.report.summary import Summary

    summary = Summary.of(logs, args.price_per_gb_second)
    if args.html:
        from infra.report.page import write

        write(args.html, summary, logs.frame)
        progress.plain(f"animegan: the page is {shown(args.html)}")
    if args.json:
        print(json.dumps(summary.as_json(), indent=2))
    elif args.markdown:
        print(text.markdown(summary))
    else:
        text.terminal(summary)
    return 0
