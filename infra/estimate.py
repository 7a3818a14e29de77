"""What a backfill takes: GB-seconds, requests, USD and time, from the seconds that a picture takes.

Those are never made up: they are given, or read from the function's own log lines, or measured here and now.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from infra.errors import BadRequest
from infra.text import shown

# USD, us-east-1 (N. Virginia), x86, first tier, as entered in November 2026 from what is published at
# https://aws.amazon.com/lambda/pricing/ and https://aws.amazon.com/s3/pricing/. Other regions have other prices.
PRICES_OF = "us-east-1, November 2026"
GB_SECOND = 0.0000166667
INVOCATION = 0.20 / 1_000_000
BATCH_JOB = 0.25
BATCH_OBJECT = 1.00 / 1_000_000
PUT = 0.005 / 1_000
GET = 0.0004 / 1_000  # HEAD costs the same

PUTS_PER_OBJECT = 1  # the picture
GETS_PER_OBJECT = 3  # HEAD of the photo, HEAD of its picture, GET
MEASURED = 3  # conversions that a measurement is the median of
MEASURED_SIZE = (1024, 768)


@dataclass(frozen=True, slots=True)
class Seconds:
    """Of one picture, and where the figure is from."""

    value: float
    origin: str


@dataclass(frozen=True, slots=True)
class Terms:
    """What an estimate goes by, besides the objects; `batch` adds S3 Batch Operations' own price."""

    seconds: float
    memory_mb: int
    concurrency: int
    batch: bool = True
    gb_second: float = GB_SECOND


@dataclass(frozen=True, slots=True)
class Estimate:
    """Costs in USD. `duration_s` is with all of `concurrency` busy from the first second to the last."""

    gb_seconds: float
    invocations: int
    puts: int
    gets: int
    lambda_usd: float
    s3_usd: float
    batch_usd: float
    duration_s: float

    @property
    def usd(self) -> float:
        return self.lambda_usd + self.s3_usd + self.batch_usd


def estimate(objects: int, terms: Terms) -> Estimate:
    """One invocation per object, as S3 Batch makes them."""
    gb_seconds = objects * terms.seconds * terms.memory_mb / 1024
    puts, gets = objects * PUTS_PER_OBJECT, objects * GETS_PER_OBJECT
    return Estimate(
        gb_seconds=gb_seconds,
        invocations=objects,
        puts=puts,
        gets=gets,
        lambda_usd=gb_seconds * terms.gb_second + objects * INVOCATION,
        s3_usd=puts * PUT + gets * GET,
        batch_usd=BATCH_JOB + objects * BATCH_OBJECT if terms.batch and objects else 0.0,
        duration_s=math.ceil(objects / terms.concurrency) * terms.seconds,
    )


def from_log(path: Path) -> Seconds:
    """The median of the conversions in a log. Raises BadRequest where there are none, OSError."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        return _median(lines, shown(path))


def measured(memory_mb: int, style: str | None) -> Seconds:
    """The median of a few conversions here, through the real function. Raises what starting it raises."""
    import io

    from infra.emulator import Emulator, lambda_environment
    from infra.http_event import post

    lambda_environment(memory_mb)
    log = io.StringIO()
    emulator = Emulator(memory_mb=memory_mb, limits=False, log=log)
    event = post("/convert", _photo(), "image/jpeg", {"style": style} if style else {})
    for _ in range(MEASURED):
        emulator.invoke(event)
    width, height = MEASURED_SIZE
    return _median(log.getvalue().splitlines(), f"a photo of {width}×{height} made up here, on this machine")


def _photo() -> bytes:
    import cv2
    import numpy as np

    width, height = MEASURED_SIZE
    small = np.random.default_rng(0).integers(0, 256, (height // 16, width // 16, 3), np.uint8)
    pixels = cv2.resize(small, MEASURED_SIZE, interpolation=cv2.INTER_CUBIC)
    return bytes(cv2.imencode(".jpg", pixels)[1].tobytes())


def _median(lines: Iterable[str], where: str) -> Seconds:
    """Of S3's conversions if there are any, as they include the photo's way from S3; else of all."""
    from_s3: list[float] = []
    others: list[float] = []
    for line in _conversions(lines):
        (from_s3 if "fetch_ms" in line else others).append(line["Duration"] + line.get("fetch_ms", 0))
    if not (taken := from_s3 or others):
        raise BadRequest(f"{where} has no line of a conversion that went well")
    kind = "S3 conversion" if from_s3 else "conversion"
    return Seconds(median(taken) / 1000, f"median of {len(taken)} {kind}{'s' * (len(taken) > 1)}, {where}")


def _conversions(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The log lines of conversions that went well, whatever CloudWatch's exports put before them."""
    for text in lines:
        try:
            line = json.loads(text[text.index("{") :])
        except ValueError:
            continue
        if isinstance(line, dict) and line.get("event") == "conversion" and line.get("error") is None:
            metric = line.get("Duration")
            duration = metric[0] if isinstance(metric, list) and metric else metric
            if isinstance(duration, int | float):
                yield {**line, "Duration": duration}
