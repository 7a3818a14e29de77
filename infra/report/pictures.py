"""What each plot of the page draws."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import polars as pl
from matplotlib import dates as untyped_dates
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from infra.report import samples
from infra.report.figures import STAGES
from infra.report.plots import FAINT, INK, SERIES, Plot
from infra.report.sections import NAMES
from infra.report.units import ms
from infra.text import shown

dates: Any = untyped_dates
STEP_NAMES = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week", "mo": "month", "q": "quarter"}
# Of years, months, days, hours, minutes, seconds; and where a larger one begins.
TICKS = ["%Y", "%b", "%d", "%H:%M", "%H:%M", "%H:%M:%S"]
ROUND_TICKS = ["", "%Y", "%b", "%d %b", "%H:%M", "%H:%M"]
LONGEST_NAME = 20
ENDING = 12  # of a log stream's name, or of a process's
DAY = timedelta(days=1)  # in which Matplotlib counts
MARGIN = 0.03  # of the time that is shown
NEAR = 2.5  # times the memory in use: a limit farther away would only flatten the plot


def plots(frame: pl.DataFrame) -> Iterator[Plot]:
    """Those that there is something to show in. `frame` as infra.logs gives it."""
    made = samples.converted(frame)
    if made.is_empty():
        return
    yield _stages(made)
    yield _latency(made)
    yield _memory(made, frame["memory_size"].drop_nulls().unique().to_list())
    yield _queue(made)


def _stages(made: pl.DataFrame) -> Plot:
    binned = samples.stages_over_time(made)
    rows = binned.rows
    used = [name for name in (*STAGES, "other") if rows[name].sum() > 0]

    def draw(axes: Axes, narrow: bool) -> None:
        left, below = _times(rows), [0.0] * rows.height
        width = binned.width / DAY
        for name in used:
            colour = SERIES[[*STAGES, "other"].index(name)]
            heights = rows[name].to_list()
            axes.bar(left, heights, width * 0.92, below, align="edge", color=colour, label=NAMES.get(name, name))
            below = [low + height for low, height in zip(below, heights, strict=True)]
        _over_time(axes, narrow, left, width)

    caption = f"Mean time of a conversion in each {_named(binned.step)} (UTC), by stage. Failed conversions and "
    return Plot("Where the time goes", f"{caption}pictures from the cache are left out.", draw)


def _latency(made: pl.DataFrame) -> Plot:
    sampled, trend = samples.latency(made), samples.latency_by_size(made)
    styles = sorted(sampled.rows["style"].drop_nulls().unique())
    high, middle = made["duration"].max(), made["duration"].median()

    def draw(axes: Axes, narrow: bool) -> None:
        for style, colour in [*zip(styles, SERIES, strict=False), (None, FAINT)]:
            of = sampled.rows.filter(pl.col("style").eq_missing(pl.lit(style)))
            if of.height:
                look: Any = {"color": colour, "alpha": 0.5, "linewidths": 0}
                axes.scatter(of["megapixels"], of["duration"], 12, label=_short(style or "others"), **look)
        if trend.height > 1:
            axes.plot(trend["megapixels"], trend["p50"], color=INK, label="p50 of all")
            axes.plot(trend["megapixels"], trend["p90"], color=INK, linestyle=":", label="p90 of all")
        if isinstance(high, float) and isinstance(middle, float) and high > 20 * middle > 0:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set_xlabel("megapixels of the picture")
        _in_ms(axes)

    drawn = "Each point is a conversion"
    if sampled.shown < sampled.all:
        drawn = f"{sampled.shown:,} of {sampled.all:,} conversions, drawn at random; the lines are of all of them"
    caption = f"{drawn}. The network's work grows with the pixels of the picture."
    return Plot("Latency against pixels", caption, draw)


def _memory(made: pl.DataFrame, sizes: list[int]) -> Plot:
    sampled = samples.memory(made)
    names = sampled.rows["environment"].unique(maintain_order=True).to_list()
    top = sampled.rows["memory"].to_numpy().max(initial=0)

    def draw(axes: Axes, narrow: bool) -> None:
        for name, colour in zip(names, SERIES, strict=False):
            of = sampled.rows.filter(pl.col("environment").eq_missing(pl.lit(name)))
            marker = "." if of.height < 30 else ""
            axes.plot(of["nth"], of["memory"], color=colour, label=_short(name, ENDING), marker=marker)
        for size in sorted(size for size in sizes if size < NEAR * top):
            axes.axhline(size, color=INK, linewidth=1, linestyle="--", label=f"{size} MB, the limit")
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(4 if narrow else 8, integer=True, steps=[1, 2, 5, 10]))
        axes.set_xlabel("conversions in this environment")
        axes.set_ylabel("MiB")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))

    which = "Memory in use after a conversion, by execution environment; of many, the most in each run of them."
    if sampled.shown < sampled.all:
        which += f" The {sampled.shown} of {sampled.all:,} environments that made the most conversions are shown."
    return Plot("Memory over invocations", which, draw)


def _queue(made: pl.DataFrame) -> Plot:
    binned = samples.queue_and_inference(made)
    rows = binned.rows

    def draw(axes: Axes, narrow: bool) -> None:
        left, width = _times(rows), binned.width / DAY
        middle = [at + width / 2 for at in left]
        marker = "." if rows.height < 30 else ""
        for name in ("queue", "inference"):
            colour = SERIES[STAGES.index(name)]
            axes.plot(middle, rows[f"{name}_p50"], color=colour, marker=marker, label=f"{name} p50")
            axes.plot(middle, rows[f"{name}_p90"], color=colour, marker=marker, linestyle=":", label=f"{name} p90")
        _over_time(axes, narrow, left, width)

    caption = f"The wait for a slot and the network's own time, in each {_named(binned.step)} (UTC). "
    return Plot("Queue against inference", f"{caption}A queue that grows alone: more photos than slots.", draw)


def _over_time(axes: Axes, narrow: bool, left: list[float], width: float) -> None:
    """From the first stretch of time to the last, so that one alone has its own width, and plots stand in line."""
    margin = MARGIN * (left[-1] + width - left[0])
    axes.set_xlim(left[0] - margin, left[-1] + width + margin)
    locator = dates.AutoDateLocator(minticks=min(5, len(left)), maxticks=4 if narrow else 8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, formats=TICKS, zero_formats=ROUND_TICKS))
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    _in_ms(axes)


def _in_ms(axes: Axes) -> None:
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: "0" if value == 0 else ms(value)))


def _times(rows: pl.DataFrame) -> list[float]:
    """As Matplotlib counts them, in days."""
    found: Any = dates.date2num(rows["at"].dt.replace_time_zone(None).to_numpy())
    return [float(at) for at in found]


def _short(name: str | None, end: int = 0) -> str:
    """In one line, of which `end` is what tells such names apart. Matplotlib hides labels that begin with _."""
    text = "unnamed" if name is None else shown(name).lstrip("_") or "unnamed"
    if len(text) <= (end or LONGEST_NAME):
        return text
    return f"…{text[-end:]}" if end else f"{text[:LONGEST_NAME]}…"


def _named(step: str) -> str:
    """`15m` -> 15 minutes, `1h` -> hour."""
    number, unit = step.rstrip("smhdwqo"), step.lstrip("0123456789")
    return STEP_NAMES[unit] if number == "1" else f"{number} {STEP_NAMES[unit]}s"
