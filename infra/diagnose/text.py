"""A diagnosis for people: what it is, since when, the figures, what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from textwrap import fill

from infra.diagnose.causes import Cause, Diagnosis, Figure, Finding
from infra.text import counted, shown

WIDTH = 100
UNCHANGED = 0.05  # relative; what changed less is said to be unchanged
TIMES = 3.0  # from here on a change is told as a factor, as +1,250 % says little


def as_text(diagnosis: Diagnosis) -> str:
    return "\n".join(_lines(diagnosis))


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Names come from the log, and so may be anything: none of them moves a terminal's cursor."""
    yield shown(_headline(diagnosis))
    for number, found in enumerate(diagnosis.causes, 1):
        yield ""
        yield shown(f"{number}. {_title(found)}")
        yield from (shown(f"   {_figure(one)}") for one in found.evidence if _known(one))
        yield fill(f"Cure: {found.cure}", WIDTH, initial_indent="   ", subsequent_indent="   ")
    if diagnosis.notes:
        yield ""
        yield from (fill(shown(f"Note: {note}."), WIDTH, subsequent_indent="      ") for note in diagnosis.notes)


def _headline(diagnosis: Diagnosis) -> str:
    conversions = counted(diagnosis.conversions, "conversion")
    looked_at = f"{conversions} in {counted(diagnosis.environments, 'environment')}"
    if diagnosis.since and diagnosis.until:
        looked_at += f", {_time(diagnosis.since)} to {_time(diagnosis.until)} UTC"
    if diagnosis.cause is Cause.NOT_ENOUGH_DATA:
        return f"Not enough data: {looked_at}."
    if diagnosis.cause is Cause.UNEXPLAINED:
        return f"No cause found: conversions take {diagnosis.unexplained:.0%} longer than before ({looked_at})."
    if diagnosis.cause is Cause.NO_CHANGE:
        return f"No change: conversions did not get slower ({looked_at})."
    return f"{_capital(diagnosis.cause.words)}: {diagnosis.causes[0].what} ({looked_at})."


def _title(found: Finding) -> str:
    parts = [f"{_capital(found.cause.words)}, {_when(found)}", _where(found), _cost(found)]
    return "; ".join(part for part in parts if part)


def _when(found: Finding) -> str:
    if not found.since:
        return "all along"
    since = _time(found.since)
    return f"{since} to {_time(found.until)} UTC, over since" if found.until else f"since {since} UTC"


def _where(found: Finding) -> str:
    if found.of <= 1 or not found.environments:
        return ""
    if len(found.environments) >= found.of:
        return f"in all {found.of} environments"
    names = ", ".join(found.environments[:3]) + (", …" if len(found.environments) > 3 else "")
    return f"in {len(found.environments)} of {found.of} environments ({names})"


def _cost(found: Finding) -> str:
    if not found.added_ms > 0:
        return "it has not made conversions slower yet" if found.cause is Cause.MEMORY_GROWTH else ""
    slower = f"{found.slower + 1:,.1f} times" if found.slower >= TIMES else f"{found.slower:+.0%}"
    return f"{_amount(found.added_ms, 'ms')} ({slower}), {found.share:.0%} of the slowdown"


def _known(figure: Figure) -> bool:
    """Not where nothing is known, nor where nothing was and is."""
    return figure.during is not None and figure.during == figure.during and not figure.before == figure.during == 0


def _figure(figure: Figure) -> str:
    """`inference per megapixel 1,120 ms → 2,310 ms (+106 %)`."""
    during = _amount(figure.during, figure.unit)
    before = figure.before
    if before is None or before != before:
        return f"{figure.name} {during}"
    if isinstance(before, str) or isinstance(figure.during, str):
        return f"{figure.name} {before}" + (f" → {figure.during}" if before != figure.during else ", as before")
    return f"{figure.name} {_number(before)} → {during}{_change(figure)}"


def _change(figure: Figure) -> str:
    change = figure.change
    if change is None or figure.unit == "%":
        return ""
    if abs(change) < UNCHANGED:
        return f" (unchanged, {change:+.0%})"
    return f" ({change + 1:,.1f} times)" if change >= TIMES else f" ({change:+.0%})"


def _amount(value: float | str | None, unit: str) -> str:
    text = value if isinstance(value, str) else _number(value or 0.0)
    return f"{text} {unit}".strip()


def _number(value: float) -> str:
    """Three digits that count, thousands apart; whole numbers as they are."""
    if not math.isfinite(value):
        return "unknown"
    if value == round(value):
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{round(value, digits):,.{digits}f}" if digits < 5 else f"{value:.2g}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _time(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}"
