"""Runs in which nothing changes, whatever there is all along: what a diagnosis must not call a fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from infra.faults.drawn import Row
from infra.faults.recipes import PLAIN, cached
from infra.faults.scenario import Kind, Scenario, Target

FORMATS: tuple[Kind, ...] = ("jpeg", "png", "webp")


def no_change(usual: Scenario, row: Row) -> Scenario:
    return KINDS[row[0]](usual, *row[1:])


def _clients(usual: Scenario, count: int) -> Scenario:
    return usual.on("serve").always(clients=count)


def _load(usual: Scenario, load: float, burst: int) -> Scenario:
    return usual.on("serve").always(clients=1, load=load, burst=burst)


def _restart(usual: Scenario, target: Target) -> Scenario:
    """As a deployment of the same version."""
    return replace(usual.on(target), restart=True)


def _s3(usual: Scenario, delay_s: float) -> Scenario:
    return usual.on("s3_event").always(clients=1, delays={"GET": delay_s, "PUT": delay_s})


def _environments(usual: Scenario, count: int, lifetime: int) -> Scenario:
    return usual.on("http_event").always(processes=count, clients=count, lifetime=lifetime)


def _formats(usual: Scenario) -> Scenario:
    [photos] = usual.before.photos
    return usual.always(photos=tuple(replace(photos, kind=one) for one in FORMATS))


def _styles(usual: Scenario) -> Scenario:
    [photos] = usual.before.photos
    return usual.always(photos=(photos, replace(photos, query={"style": PLAIN})))


def _setting(name: str, value: str) -> Callable[[Scenario], Scenario]:
    return lambda usual: usual.always(variables={name: value})


def _mixed(usual: Scenario) -> Scenario:
    """All sizes that there are, in all formats, some of them beside their photos."""
    [photos] = usual.before.photos
    small = replace(photos, least=96, most=200, query={"format": "png"})
    beside = replace(photos, kind="webp", query={"side_by_side": "true", "quality": "97"})
    return usual.always(photos=(small, photos, beside))


def _large_photos(usual: Scenario, kind: Kind, side: int) -> Scenario:
    [photos] = usual.before.photos
    query = {"size": str(photos.most)}
    large = replace(photos, kind=kind, least=side - 200, most=side, distinct=5, query=query)
    return usual.always(photos=(large,))


KINDS: dict[str, Callable[..., Scenario]] = {
    "clients": _clients,
    "load": _load,
    "restart": _restart,
    "cache": cached,
    "S3": _s3,
    "environments": _environments,
    "formats": _formats,
    "styles": _styles,
    "float32": _setting("PRECISION", "float32"),
    "torch": _setting("KERNEL", "torch"),
    "mixed": _mixed,
    "large photos": _large_photos,
}
