"""Figures as people read them."""

from __future__ import annotations

import math

from infra.report.figures import Spread

NONE = "–"


def median(spread: Spread | None) -> str:
    return ms(spread.p50 if spread else None)


def ms(value: float | None) -> str:
    """Two or three digits that mean something: `0.62 ms`, `84 ms`, `3.78 s`."""
    if value is None:
        return NONE
    if value >= 10_000:
        return f"{value / 1000:,.1f} s"
    if value >= 1_000:
        return f"{value / 1000:,.2f} s"
    return f"{value:.0f} ms" if value >= 10 else f"{value:.2g} ms" if value >= 0.1 else f"{value:.2f} ms"


def mib(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f} MiB"


def usd(value: float | None) -> str:
    """Cents where there are any; below, two digits that are not zero."""
    if value is None:
        return NONE
    digits = 2 if value >= 0.1 or value == 0 else 1 - math.floor(math.log10(value))
    return f"{value:,.{digits}f} USD"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"
