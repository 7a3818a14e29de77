"""What a backfill takes: GB-seconds, requests, USD and time, from the seconds that a picture takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
