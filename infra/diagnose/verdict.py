"""From findings to a diagnosis: what follows from what, and how much of the slowdown each explains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import polars as pl

from infra.diagnose.causes import Cause, Diagnosis, Figure, Finding
from infra.diagnose.evidence import WAIT
from infra.diagnose.log import Log
from infra.diagnose.notes import longer, notes, unexplained
from infra.diagnose.rules import OF_ENVIRONMENTS, RULES
from infra.diagnose.rules.contention import one_of_many
from infra.diagnose.rules.queueing import ITSELF, REQUESTS, WAITED

ENOUGH = 40  # conversions that were answered; with fewer, neither side of a change has the 15 that it needs
ALONE = 50  # environments that are looked at one by one, those with the most conversions
SLOWER = 0.2  # are conversions themselves, from which on a queue can be what follows from that
MORE = 0.2  # requests than before, from which on a queue is of their making


def diagnosed(log: Log) -> Diagnosis:
    """The whole answer."""
    found: list[Finding] = []
    enough = len(log.good) >= ENOUGH
    if enough:
        pooled = _of_the_log(log)
        found = ranked(_without_consequences([*pooled, *_of_environments(log, pooled)]))
    cause = found[0].cause if found else Cause.NO_CHANGE if enough else Cause.NOT_ENOUGH_DATA
    slower = unexplained(log) if enough and not found else None
    cause = Cause.UNEXPLAINED if slower else cause
    times = log.conversions.frame["at"]
    return Diagnosis(
        cause,
        tuple(found),
        conversions=len(log.good),
        refused=len(log.refused),
        failed=len(log.conversions) - len(log.good) - len(log.refused),
        environments=len(log.conversions.environments),
        since=_datetime(times.min()),
        until=_datetime(times.max()),
        unexplained=longer(slower) if slower else 0.0,
        notes=notes(log, slower) if enough else (f"at least {ENOUGH} answered conversions are needed",),
    )


def ranked(found: Iterable[Finding]) -> list[Finding]:
    """What began and lasts, then what was so all along, then what is over, each by its share of the slowdown.

    The question is why conversions got slower; equal ones are told in the order of RULES (sorting is stable).
    """
    findings = sorted(found, key=lambda one: (bool(one.until), not one.since, -one.added_ms))
    whole = max([sum(one.added_ms for one in findings), *(_observed(one) for one in findings)], default=0.0)
    return [replace(one, share=one.added_ms / whole if whole > 0 else 0.0) for one in findings]


def _observed(found: Finding) -> float:
    """By how much the mean wait rose, explained or not; in ms."""
    wait = next((one for one in found.evidence if one.name == WAIT), None)
    before, during = (wait.before, wait.during) if wait else (None, None)
    return during - before if isinstance(before, float) and isinstance(during, float) else 0.0


def _of_the_log(log: Log) -> list[Finding]:
    return [found for rule in RULES if (found := rule(log))]


def _of_environments(log: Log, found: Sequence[Finding]) -> list[Finding]:
    """What only some environments have, where the log as a whole shows nothing of the kind."""
    logs = [log.only(name) for name in _several(log)]
    known = {one.cause for one in found}
    alone = [_merged(log, [one for part in logs if (one := rule(part))]) for rule in OF_ENVIRONMENTS]
    told = {name for one in alone if one and one.cause is Cause.CPU_CONTENTION for name in one.environments}
    beside = one_of_many(log)
    if beside and not told.isdisjoint(beside.environments):
        beside = None  # its own log has said so already
    return [one for one in (*alone, beside) if one and one.cause not in known]


def _several(log: Log) -> list[str]:
    """Environments with enough conversions of their own, where there is more than one."""
    counts = log.warm.frame["environment"].value_counts().sort("count", "environment", descending=[True, False])
    enough = counts.filter(pl.col("count") >= ENOUGH)["environment"].head(ALONE)
    return enough.to_list() if counts.height > 1 else []


def _merged(log: Log, found: Sequence[Finding]) -> Finding | None:
    """The same cause in several environments: the worst speaks for all, and weighs what they do in the log."""
    if not found:
        return None
    worst = max(found, key=lambda one: one.slower)
    names = tuple(name for one in found for name in one.environments)
    added = sum(one.added_ms * len(log.good.of(one.environments[0])) for one in found) / len(log.good)
    return replace(worst, added_ms=added, environments=names, of=len(log.conversions.environments))


def _without_consequences(found: Sequence[Finding]) -> list[Finding]:
    """A queue that grew though no more requests came is what slower conversions lead to, not their cause."""
    queue = next((one for one in found if one.cause is Cause.QUEUEING and one.since), None)
    reasons = [one for one in found if one.since and one.added_ms > 0 and one is not queue]
    if not queue or not reasons or not _follows(queue, reasons):
        return list(found)
    worst = max(reasons, key=lambda one: one.added_ms)
    wait = replace(_evidence(queue, WAITED), name="wait for a slot, which follows from it")
    whole = replace(worst, added_ms=worst.added_ms + queue.added_ms, evidence=(*worst.evidence, wait))
    return [whole if one is worst else one for one in found if one is not queue]


def _follows(queue: Finding, reasons: Sequence[Finding]) -> bool:
    requests, took = (_evidence(queue, name).change for name in (REQUESTS, ITSELF))
    more_work = any(one.cause in (Cause.CACHE_MISSES, Cause.COLD_STARTS) for one in reasons)
    return requests is not None and requests < MORE and (more_work or (took or 0.0) >= SLOWER)


def _evidence(found: Finding, name: str) -> Figure:
    return next(one for one in found.evidence if one.name == name)


def _datetime(value: object) -> datetime | None:
    return value if isinstance(value, datetime) else None
