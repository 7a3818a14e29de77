"""One log line for one conversion: collected while the work is done, written when it ends, however it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from handler.errors import ConversionError, InternalError
from handler.metrics import LogLines
from handler.objects import Leave
from handler.stages import Stages

NO_STYLE = "unknown"  # a style that a client made up must never become a dimension


@dataclass(slots=True)
class Caller:
    """Who asks: goes into the log line, and says how many milliseconds are left (None: no limit)."""

    source: str
    properties: dict[str, Any] = field(default_factory=dict)
    remaining_ms: Callable[[], int] | None = None


@dataclass(slots=True)
class Line:
    """The line of the work under way: its recorder, and the properties that are known by now."""

    log: LogLines
    source: str
    stages: Stages
    said: dict[str, Any]
    style: str = NO_STYLE
    begun: bool = False  # whether there is a conversion to tell of, or an object that needed none

    def write(self, error: ConversionError | None = None) -> None:
        if error:
            error.timings = self.stages.timings()
            self.said["error_message"] = str(error)
        pixels = self.said.get("input_width", 0) * self.said.get("input_height", 0)
        code = error.code if error else None
        self.log.conversion(self.stages, self.style, self.source, pixels, code, self.said)

    def leave(self, reason: str) -> None:
        self.said["reason"] = reason
        if self.begun:
            self.write()
        else:
            self.log.skipped(self.source, self.said)


@contextmanager
def logged(log: LogLines, caller: Caller, stages: Stages) -> Iterator[Line]:
    """One line for whatever is done within. Out of it come only Leave and ConversionErrors: a defect of ours
    becomes InternalError with its cause. An interrupt leaves no line, as nothing ended.
    """
    line = Line(log, caller.source, stages, dict(caller.properties))
    try:
        yield line
    except Leave as left:
        line.leave(left.reason)
        raise
    except ConversionError as expected:
        line.write(expected)
        raise
    except Exception as defect:
        line.said["defect"] = repr(defect)
        ours = InternalError("The conversion failed by a defect of ours; the log line has the details.")
        line.write(ours)
        raise ours from defect
    line.write()
