"""Rows as Markdown, which terminals show well too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The first column to the left, the others to the right."""
    texts = [[str(cell) for cell in row] for row in [columns, *rows]]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    rule = [("-" * widths[0]), *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_line(row, widths) for row in [texts[0], rule, *texts[1:]])


def pairs(said: Mapping[str, str]) -> str:
    """One line per entry."""
    width = max(map(len, said))
    return "\n".join(f"{name:<{width}}  {value}" for name, value in said.items())


def spread(values: Sequence[float], digits: int = 0) -> str:
    """`median (minimum)`."""
    return f"{median(values):,.{digits}f} ({min(values):,.{digits}f})"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    cells = [f"{first[0]:<{first[1]}}", *(f"{text:>{width}}" for text, width in others)]
    return f"| {' | '.join(cells)} |"
