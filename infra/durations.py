"""The seconds that a picture takes. Never made up: from the function's own log lines, or measured here and now."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from infra.errors import BadRequest
from infra.text import shown

MEASURED = 3  # conversions that a measurement is the median of
MEASURED_SIZE = (1024, 768)
LONGEST_MS = 24 * 3600 * 1000.0  # of a conversion: Lambda's end after 15 minutes, and no machine takes a day


@dataclass(frozen=True, slots=True)
class Seconds:
    """Of one picture, and where the figure is from."""

    value: float
    origin: str


def from_log(path: Path) -> Seconds:
    """The median of the conversions in a log. Raises BadRequest where there are none, OSError."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        return _median(lines, shown(path))


def measured(memory_mb: int, style: str | None) -> Seconds:
    """The median of a few conversions here, through the real function. Raises what starting it raises."""
    import io

    from infra.bench.made_up import jpeg
    from infra.emulator import Emulator, lambda_environment
    from infra.http_event import post

    lambda_environment(memory_mb)
    os.environ["CACHE_BYTES"] = "0"  # the same photo each time
    log = io.StringIO()
    emulator = Emulator(memory_mb=memory_mb, limits=False, log=log)
    event = post("/convert", jpeg(*MEASURED_SIZE), "image/jpeg", {"style": style} if style else {})
    for _ in range(MEASURED):
        emulator.invoke(event)
    width, height = MEASURED_SIZE
    return _median(log.getvalue().splitlines(), f"a photo of {width}×{height} made up here, on this machine")


def _median(lines: Iterable[str], where: str) -> Seconds:
    """Of S3's conversions if there are any, whose durations include the way from S3 and back; else of all."""
    from_s3: list[float] = []
    others: list[float] = []
    for line in _conversions(lines):
        metric = line.get("Duration")
        if duration := _ms(metric[0] if isinstance(metric, list) and metric else metric):
            (from_s3 if "S3PutDuration" in line else others).append(duration)
    if not (taken := from_s3 or others):
        raise BadRequest(f"{where} has no line of a conversion that went well")
    kind = "S3 conversion" if from_s3 else "conversion"
    return Seconds(median(taken) / 1000, f"median of {len(taken)} {kind}{'s' * (len(taken) > 1)}, {where}")


def _conversions(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The log lines of conversions that went well, whatever CloudWatch's exports put before them."""
    for text in lines:
        try:
            line = json.loads(text[text.index("{") :])
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict) and line.get("event") == "conversion" and _made(line):
            yield line


def _made(line: dict[str, Any]) -> bool:
    """Whether a picture was made, and not one that was kept."""
    return line.get("error") is None and line.get("cache") != "hit"


def _ms(value: Any) -> float | None:
    """None for what is no duration, as a log may have been through many hands."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_MS:
        return None
    return float(value)
