"""What becomes of usual traffic when it gets a fault: one recipe per cause, and its row of strengths.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from infra.faults.drawn import Row
from infra.faults.scenario import Photos, Scenario

PLAIN = "plain"  # a style in float32 only, see styles.py
CACHE_BYTES = 64 * 2**20
MORE = (70, 85)  # conversions in the halves of runs with a cache, where most cost nothing


def cached(usual: Scenario, new: float) -> Scenario:
    """Six photos that are asked for again and again, and a share of new ones."""
    photos = replace(usual.before.photos[0], distinct=6, new=new)
    variables = {"CACHE_BYTES": str(CACHE_BYTES)}
    return replace(usual.always(photos=(photos,), clients=1, variables=variables), conversions=MORE)


def _larger_inputs(usual: Scenario, row: Row) -> Scenario:
    [photos] = usual.before.photos
    larger = replace(photos, least=round(photos.least * row[0]), most=round(photos.most * row[0]))
    return usual.then(photos=(larger,))


def _queueing(usual: Scenario, row: Row) -> Scenario:
    kind, much, burst = row
    if kind == "clients":
        return usual.on("serve").always(clients=1).then(clients=much)
    return usual.on("serve").always(clients=1, load=0.35).then(load=much, burst=burst)


def _cpu_contention(usual: Scenario, row: Row) -> Scenario:
    return usual.then(hogs=row[0], hog_duty=row[1])


def _thread_oversubscription(usual: Scenario, row: Row) -> Scenario:
    return _since(row[1], usual)(variables={"NUM_THREADS": str(row[0])})


def _memory_growth(usual: Scenario, row: Row) -> Scenario:
    return _since(row[1], usual)(leak_mib=row[0])


def _paging(usual: Scenario, row: Row) -> Scenario:
    return usual.then(paging_s=row[0])


def _cold_starts(usual: Scenario, row: Row) -> Scenario:
    lifetime, processes = row
    several = usual.on("http_event").always(processes=processes, clients=processes)
    return replace(several.then(lifetime=lifetime), conversions=(32, 24 if lifetime == 1 else 30))


def _slow_decode(usual: Scenario, row: Row) -> Scenario:
    kind, side, part = row
    [photos] = usual.before.photos
    query = {"size": str(photos.most)}
    same = kind == "progressive"  # then the format is all that changes
    slow = replace(photos, least=side - 200, most=side, kind=kind, query=query, distinct=5)
    least = max(300, photos.most)  # else pictures would be smaller than asked for
    before = replace(slow, kind="jpeg") if same else replace(slow, kind="jpeg", least=least, most=least + 200)
    return usual.always(photos=(before,)).then(photos=_partly(before, slow, part))


def _slow_encode(usual: Scenario, row: Row) -> Scenario:
    format, quality, limit = row
    [photos] = usual.before.photos
    if limit:
        most = round(limit * photos.least**2)
        usual = usual.on("http_event").always(variables={"MAX_OUTPUT_BYTES": str(most)})
    beside = {} if limit else {"side_by_side": "true"}
    quick = replace(photos, query={"format": "jpeg", **beside})
    slow = replace(photos, query={"format": format, "quality": str(quality), **beside})
    return usual.always(photos=(quick,)).then(photos=(slow,))


def _slow_s3(usual: Scenario, row: Row) -> Scenario:
    return usual.on("s3_event").always(clients=1).then(delays=row[0])


def _cache_misses(usual: Scenario, row: Row) -> Scenario:
    before = cached(usual, row[0])
    return before.then(photos=(replace(before.before.photos[0], new=row[1]),))


def _slower_style(usual: Scenario, row: Row) -> Scenario:
    how, part = row
    if how == "asked":
        [photos] = usual.before.photos
        return usual.then(photos=_partly(photos, replace(photos, query={"style": PLAIN}), part))
    return usual.then(variables={how: {"STYLE": PLAIN, "KERNEL": "torch"}.get(how, "float32")})


def _fewer_cpus(usual: Scenario, row: Row) -> Scenario:
    if row[0] == "memory":  # one vCPU in place of two
        return usual.on("http_event").always(clients=1).then(memory_mb=1769)
    return usual.then(variables={"NUM_THREADS": "1"})


def _since(when: str, usual: Scenario) -> Callable[..., Scenario]:
    return usual.always if when == "start" else usual.then


def _partly(usual: Photos, other: Photos, part: float) -> tuple[Photos, ...]:
    """So that `part` of the questions, in thirds, are the other ones."""
    return (other,) if part == 1 else (usual, *[other] * round(3 * part))


RECIPES: dict[str, Callable[[Scenario, Row], Scenario]] = {
    "larger_inputs": _larger_inputs,
    "queueing": _queueing,
    "cpu_contention": _cpu_contention,
    "thread_oversubscription": _thread_oversubscription,
    "memory_growth": _memory_growth,
    "paging": _paging,
    "cold_starts": _cold_starts,
    "slow_decode": _slow_decode,
    "slow_encode": _slow_encode,
    "slow_s3": _slow_s3,
    "cache_misses": _cache_misses,
    "slower_style": _slower_style,
    "fewer_cpus": _fewer_cpus,
}
