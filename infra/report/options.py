"""The options of `animegan report`."""

from __future__ import annotations

from pathlib import Path

from infra.arguments import Adder, new, positive
from infra.estimate import GB_SECOND
from infra.logs import options as log_options
from infra.report import command


def add(adder: Adder) -> None:
    help = "what the log says: by day, stage, style, source, size and memory size"
    report = new(adder, "report", command.report, help)
    log_options.add(report)
    report.add_argument("--html", type=Path, metavar="FILE", help="also write a page with plots, in one file")
    price = f"default {GB_SECOND:.10f}, x86 in us-east-1"
    report.add_argument("--price-per-gb-second", type=positive, default=GB_SECOND, metavar="USD", help=price)
    form = report.add_mutually_exclusive_group().add_argument
    form("--json", action="store_true", help="as a JSON object, with every day; docs/report.md has its keys")
    form("--markdown", action="store_true", help="as Markdown")
