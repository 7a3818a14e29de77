"""Times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime


def shown(when: datetime) -> str:
    """`2026-11-30 14:00 UTC`."""
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
