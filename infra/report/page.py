"""The report as one HTML page that needs nothing else: no script, no request, its own light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from handler import __version__
from infra.report.pictures import plots
from infra.report.sections import headline, tables
from infra.report.summary import NOT_ON_LAMBDA, Summary
from infra.report.units import NONE, mib, ms, percent, usd
from infra.text import shown

MOST_SOURCES = 50  # files named; an export has thousands


def write(path: Path, summary: Summary, frame: pl.DataFrame) -> None:
    """Raises OSError."""
    path.write_text(page(summary, frame), encoding="utf-8", errors="backslashreplace")


def page(summary: Summary, frame: pl.DataFrame) -> str:
    """Everything from a log is escaped: by Jinja in text, by Matplotlib in plots."""
    here = PackageLoader("infra.report", ".")
    environment = Environment(loader=here, autoescape=True, undefined=StrictUndefined)
    environment.filters["shown"] = shown
    drawn = [
        {"title": plot.title, "caption": plot.caption, **{size: Markup(svg) for size, svg in plot.svg().items()}}
        for plot in plots(frame)
    ]
    return environment.get_template("page.html").render(
        css=Markup((Path(__file__).parent / "page.css").read_text(encoding="utf-8")),
        headline=headline(summary),
        cards=list(_cards(summary)),
        plots=drawn,
        tables=list(tables(summary)),
        sources=summary.counted.sources[:MOST_SOURCES],
        more_sources=max(0, len(summary.counted.sources) - MOST_SOURCES),
        version=__version__,
    )


def _cards(summary: Summary) -> Iterator[tuple[str, str, str]]:
    """Name, figure, and what else there is to it."""
    total = summary.total
    failed = percent(total.failed_share) if total.failed else "none"
    hits = f"{total.cache_hits:,} from the cache" if total.cache_hits else ""
    yield "conversions", f"{total.conversions:,}", hits
    yield "failed", failed, f"{total.failed:,} conversions" if total.failed else ""
    time = total.duration
    yield "half take at most", ms(time.p50) if time else NONE, ""
    yield "99 % take at most", ms(time.p99) if time else NONE, f"90 %: {ms(time.p90)}" if time else ""
    init = total.init.time
    yield "cold starts", f"{total.cold_starts:,}", f"init {ms(init.p50)}" if init else ""
    yield "peak memory", mib(total.max_memory), ""
    per_thousand = total.cost.usd and total.conversions and total.cost.usd / total.conversions * 1000
    more = f"{usd(per_thousand)} a thousand" if per_thousand else NOT_ON_LAMBDA
    yield "Lambda's bill", usd(total.cost.usd), more
