"""The report as titled tables, the same for terminal, Markdown and page, each of which escapes names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infra.logs.when import shown
from infra.report.figures import Figures, Spread
from infra.report.summary import NOT_ON_LAMBDA, Group, Summary
from infra.report.units import NONE, median, mib, ms, percent, usd
from infra.text import counted

MOST_DAYS = 31  # shown to people; --json has them all
TITLES = {
    "style": "By style",
    "source": "By source",
    "size_class": "By size of the photo",
    "memory_size": "By memory size",
}
NAMES = {"s3_get": "S3 get", "s3_put": "S3 put", "duration": "in all"}


@dataclass(frozen=True, slots=True)
class Table:
    """The first column has names, the others have figures. `note` says what would else be misread."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def headline(summary: Summary) -> str:
    return f"{shown(summary.first)} to {shown(summary.last)}: {summary.counted.said()}"


def tables(summary: Summary) -> Iterator[Table]:
    """In the order of interest; without those that have nothing to say."""
    yield _days(summary)
    total = summary.total
    if total.duration:
        yield _stages(total)
    if total.errors:
        yield _errors(total)
    yield _resources(summary)
    for name, title in TITLES.items():
        if rows := [_group(group) for group in summary.by[name]]:
            yield Table(title, GROUP, rows)


LATENCY, USED = ("latency p50", "p90", "p99"), ("CPU", "peak memory", "cost")
DAY = ("day, UTC", "conversions", "failed", "refused", "cold starts", "init p50", *LATENCY, *USED)
GROUP = ("", "conversions", "failed", *LATENCY, "inference p50", *USED)


def _days(summary: Summary) -> Table:
    rows = [
        (
            f"{day.day:%Y-%m-%d}",
            *_counts(day.figures),
            f"{day.figures.refused:,}",
            f"{day.figures.cold_starts:,}",
            median(day.figures.init.time),
            *_spread(day.figures.duration),
            *_used(day.figures),
        )
        for day in summary.days[-MOST_DAYS:]
    ]
    left = len(summary.days) - len(rows)
    note = f"The last {MOST_DAYS} of {len(summary.days)} days; --json has them all. " if left else ""
    note += "Refused are those of the failed that no slot was free for." if summary.total.refused else ""
    return Table("By day", DAY, rows, note.strip())


def _stages(total: Figures) -> Table:
    times = {**total.stages, **({"duration": total.duration} if total.duration else {})}
    rows = [(NAMES.get(name, name), *_spread(spread)) for name, spread in times.items()]
    hits = f" {total.cache_hits:,} came from the cache, without stages." if total.cache_hits else ""
    return Table("By stage", ("stage", "p50", "p90", "p99"), rows, f"Conversions that went well.{hits}")


def _errors(total: Figures) -> Table:
    rows = [(code, f"{times:,}", percent(times / total.conversions)) for code, times in total.errors.items()]
    return Table("Errors", ("code", "conversions", "share"), rows)


def _group(group: Group) -> tuple[str, ...]:
    figures = group.figures
    return (
        group.name,
        *_counts(figures),
        *_spread(figures.duration),
        median(figures.stages.get("inference")),
        *_used(figures),
    )


def _resources(summary: Summary) -> Table:
    total = summary.total
    rows: list[tuple[str, ...]] = [
        ("CPU time", *_spread(total.cpu_time)),
        ("CPU utilisation", *_cells(total.cpu_utilisation, "{:,.0f} %")),
        ("memory in use", *_cells(total.memory, "{:,.0f} MiB")),
        ("init", *_spread(total.init.time)),
    ]
    return Table("Resources", ("", "p50", "p90", "p99"), rows, f"{_environments(total)}{costs(summary)}")


def costs(summary: Summary) -> str:
    """One or two sentences."""
    cost = summary.total.cost
    if cost.usd is None:
        return f"No cost: the lines have no memory size ({NOT_ON_LAMBDA})."
    said = f"Lambda: {usd(cost.usd)} for {cost.gb_seconds:,.0f} GB-seconds and {counted(cost.requests, 'request')}"
    terms = f"at {summary.gb_second:.10f} USD per GB-second; API Gateway, S3 and logs are not in it"
    left = f", nor are {counted(cost.unpriced, 'conversion')} without memory size" if cost.unpriced else ""
    return f"{said}, {terms}{left}."


def _environments(total: Figures) -> str:
    count, peak = total.environments, mib(total.max_memory)
    many = f"{counted(count, 'environment')}, peak memory {peak}. "
    return many if count else f"Peak memory {peak}. "


def _counts(figures: Figures) -> tuple[str, str]:
    share = f" ({percent(figures.failed_share)})" if figures.failed else ""
    return f"{figures.conversions:,}", f"{figures.failed:,}{share}"


def _used(figures: Figures) -> tuple[str, str, str]:
    cpu = f"{figures.cpu_utilisation.p50:,.0f} %" if figures.cpu_utilisation else NONE
    return cpu, mib(figures.max_memory), usd(figures.cost.usd)


def _spread(spread: Spread | None) -> tuple[str, str, str]:
    return (ms(spread.p50), ms(spread.p90), ms(spread.p99)) if spread else (NONE,) * 3


def _cells(spread: Spread | None, form: str) -> tuple[str, str, str]:
    if spread is None:
        return (NONE,) * 3
    return form.format(spread.p50), form.format(spread.p90), form.format(spread.p99)
