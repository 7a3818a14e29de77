"""CPUs that others have."""

from __future__ import annotations

import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import LEAST
from infra.diagnose.evidence import MEASURED, figure, finding, standing
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows, Split
from infra.diagnose.rules.paging import FAULTS, standstill
from infra.diagnose.rules.threads import CROWDED, more_threads

STRETCHED = 1.25  # times as long in the same CPU time, with another sign of competition
BY_ITSELF = 1.5  # the same without one: whoever never gets a turn is not interrupted either
SWITCHES = 3.0, 100.0  # times as many a second, and at least so many more; a quiet process has 20 to 100
# Threads that the kernel wakes on one CPU share it until it moves one of them. On an idle machine that costs many
# conversions some 5 ms, whatever their size, and looks like a neighbour's turns.
LEAST_MS = 6.0
STOLEN = 0.05  # more of the CPUs' time goes to other guests of the same machine
LOADED = 1.0  # more processes want to run
# Without a better time: a conversion on free CPUs has a stretch of 1.1 to 1.4, small pictures the most, and
# machines that somebody shares all day have more, so only what makes conversions twice as slow counts.
USUAL, ALL_ALONG = 1.25, 2.5
FEW = 2.0  # CPUs that are told so; many threads wait for each other on free CPUs too, so there a sign is needed
# Beside other environments: of the same function, on machines that others share too.
BESIDE = 1.5

CURE = (
    "Something else uses the CPUs that the conversions count on. On a machine: find it with `top`, move it "
    "away, or keep CPUs apart (taskset, CPU quota; NUM_THREADS=auto then follows). On Lambda: more memory "
    "brings more CPU, and an environment with a loud neighbour goes when it is replaced (any deployment does "
    "that)."
)


def cpu_contention(log: Log) -> Finding | None:
    """Inference takes longer in the same CPU time: its threads are ready, and do not run.

    Wall time over CPU time at full speed (`stretch`) is 1.1 to 1.4 on free CPUs, whatever the size, the
    precision, or the clock of the processor. It rises when others have the CPUs: then the kernel interrupts
    threads (involuntary switches), a hypervisor takes time (steal), or more processes are ready (load). It also
    rises with pages from the disk and with more threads than CPUs; those have rules of their own.
    """
    rows = log.warm.known("stretch", "inference")
    split = rows.split("stretch")
    if not split or split.ratio("stretch") < STRETCHED:
        return _all_along(log, rows)
    if (
        standstill(split) < LEAST_MS
        or _other_reason(split)
        or not (_signs(split) or split.ratio("stretch") >= BY_ITSELF)
    ):
        return None
    return finding(
        log,
        split,
        Cause.CPU_CONTENTION,
        _added(split),
        MEASURED,
        shows="stretch",
        what="conversions wait for CPUs that others use",
        stage="inference",
        evidence=(
            figure(split, "inference per megapixel", "pace", "ms"),
            figure(split, "CPU time of inference per megapixel", "work", "ms"),
            figure(split, "time over CPU time at full speed", "stretch", "times"),
            figure(split, "involuntary switches", "switching", "per second"),
            figure(split, "load", "load", "processes"),
            Figure("stolen CPU time", 100 * split.during.mean("stolen"), 100 * split.before.mean("stolen"), "%"),
        ),
        cure=CURE,
    )


def _added(split: Split) -> float:
    """Many CPUs are used less well than few, so that where they became more only what got longer counts."""
    longer = split.during.mean("inference") * (1 - 1 / split.ratio("pace"))
    return min(standstill(split), longer) if split.ratio("capacity") > 1 else standstill(split)


def _signs(split: Split) -> bool:
    """Whether the log also shows who has the CPUs."""
    more = {name: split.during.mean(name) - split.before.mean(name) for name in ("switching", "stolen", "load")}
    interrupted = more["switching"] >= SWITCHES[1] and not split.ratio("switching") < SWITCHES[0]
    return interrupted or more["stolen"] >= STOLEN or more["load"] >= LOADED


def _other_reason(split: Split) -> bool:
    faults = split.during.average("major_faults") - split.before.average("major_faults")
    return more_threads(split) or faults >= FAULTS


def _all_along(log: Log, rows: Rows) -> Finding | None:
    """So it is from the first conversion to the last: then only what no free machine shows counts."""
    rows = rows.where(~CROWDED.fill_null(False))
    if len(rows) < 2 * LEAST or rows.average("major_faults") >= FAULTS:
        return None
    stretch = rows.median("stretch")
    if not stretch >= ALL_ALONG or not (rows.median("capacity") <= FEW or _competing(rows)):
        return None
    return standing(
        log,
        rows,
        Cause.CPU_CONTENTION,
        rows.mean("inference") * (1 - USUAL / stretch),
        what="conversions wait for CPUs that others use",
        stage="inference",
        evidence=_standing(rows),
        cure=CURE,
    )


def _competing(rows: Rows) -> bool:
    return rows.median("switching") >= SWITCHES[1] or rows.mean("stolen") >= STOLEN


def _standing(rows: Rows) -> tuple[Figure, ...]:
    return (
        Figure("time over CPU time at full speed", rows.median("stretch"), unit=f"times ({USUAL} on free CPUs)"),
        Figure("involuntary switches", rows.median("switching"), unit="per second"),
        Figure("load", rows.mean("load"), unit="processes"),
    )


def one_of_many(log: Log) -> Finding | None:
    """One environment among three or more waits for CPUs all the time, and the others do not: a loud neighbour."""
    rows = log.warm.known("stretch", "inference")
    columns = pl.col("stretch", "switching", "capacity")
    medians = rows.frame.group_by("environment").agg(pl.len(), columns.median())
    medians = medians.filter(pl.col("len") >= LEAST).sort("stretch")
    medians = medians.filter(pl.col("capacity") == pl.col("capacity").last())
    if medians.height < 3:
        return None
    usual, worst = medians["stretch"].median(), medians.row(-1, named=True)
    if not isinstance(usual, float) or worst["stretch"] < BESIDE * usual or not worst["switching"]:
        return None
    apart, others = rows.of(worst["environment"]), rows.where(pl.col("environment") != worst["environment"])
    if apart.average("major_faults") >= FAULTS or apart.share(CROWDED) > 0:
        return None
    named = (
        ("inference per megapixel, others → this one", "pace", "ms"),
        ("CPU time of that", "work", "ms"),
        ("involuntary switches", "switching", "per second"),
    )
    return standing(
        log,
        apart,
        Cause.CPU_CONTENTION,
        apart.mean("inference") * (1 - usual / worst["stretch"]),
        what="one environment waits for CPUs that others use",
        stage="inference",
        evidence=tuple(Figure(name, apart.mean(c), others.mean(c), unit) for name, c, unit in named),
        cure=CURE,
    )
