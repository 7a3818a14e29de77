"""Text that others wrote, as it may be repeated in an answer, a report or a message."""

from __future__ import annotations


def encodable(text: str) -> str:
    """The same, with halves of surrogate pairs as escapes: JSON can carry them, but no UTF-8, and so no answer."""
    return text.encode(errors="backslashreplace").decode()


def shown(value: object, most: int) -> str:
    """The first characters of a value, however deep its lists are nested."""
    try:
        return encodable(str(value)[:most])
    except RecursionError:
        return "…"
