"""The function's log lines, from wherever a log ends up, as one table.

    logs = load(["export/", "-"], since=None, until=None)
    logs.frame      # polars, one row per line of ours, sorted by time; infra/logs/columns.py has the columns
    logs.counted    # what else was read: other programs' lines, damaged ones, those outside the time range

What needs the extra `report` is imported when it is asked for, so that the command line can do without.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from infra.logs.needs import require

if TYPE_CHECKING:
    from infra.logs.columns import SCHEMA
    from infra.logs.counts import Counted, Read
    from infra.logs.reader import Logs, load

__all__ = ["SCHEMA", "Counted", "Logs", "Read", "load", "require"]

_WHERE = {"SCHEMA": "columns", "Counted": "counts", "Read": "counts", "Logs": "reader", "load": "reader"}


def __getattr__(name: str) -> Any:
    """Raises NotInstalled."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require()
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
