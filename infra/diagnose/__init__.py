"""Why conversions got slower, out of their own log lines.

    diagnosis = diagnose(load(["log.jsonl"]).frame)
    diagnosis.cause     # Cause.CPU_CONTENTION, or NO_CHANGE, or NOT_ENOUGH_DATA
    diagnosis.causes    # every finding with its evidence and cure, the largest share of the slowdown first

Each cause has its own rule in rules/. A rule looks for the moment from which its own signal is larger
(changes.py), works out what that adds to a conversion, and speaks up only if that is much; verdict.py weighs
what they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.diagnose.causes import Cause, Diagnosis, Figure, Finding

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Cause", "Diagnosis", "Figure", "Finding", "diagnose"]


def diagnose(frame: pl.DataFrame) -> Diagnosis:
    """Diagnose a table of infra.logs. Only `at` and `event` must be there; other columns it lacks are unknown."""
    from infra.diagnose.log import Log
    from infra.diagnose.verdict import diagnosed

    return diagnosed(Log.of(frame))
