"""One log line of ours, typed. What handler/metrics.py writes, and nothing that it cannot have written.

msgspec checks types and bounds while it parses, in about 3 µs a line; `json` alone takes five times that.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

EVENTS = ("conversion", "init", "skipped")
LATEST_MS = 4_102_444_800_000  # the year 2100: later is no date but damage

Text = Annotated[str, Meta(max_length=512)]  # CloudWatch's longest stream name
Amount = Annotated[float, Meta(ge=0, le=1e12)]
Whole = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Short = Annotated[int, Meta(ge=0, le=2**16 - 1)]


class First(Struct, array_like=True, frozen=True, gc=False):
    """The first number of a list: metrics are `[92.41]`, the load average is `[1.53, 1.09, 0.53]`."""

    value: Amount | None = None


class FirstCount(Struct, array_like=True, frozen=True, gc=False):
    """The same of a count, which metrics have as `[480000.0]`."""

    value: Annotated[float, Meta(ge=0, le=2**32 - 1)] | None = None


class Aws(Struct, frozen=True, gc=False):
    timestamp: Annotated[int, Meta(ge=0, le=LATEST_MS)] = field(name="Timestamp")


class StageCpu(Struct, frozen=True, gc=False):
    """Seconds."""

    decode: Amount | None = None
    inference: Amount | None = None


NONE, NO_COUNT, NO_CPU = First(), FirstCount(), StageCpu()


class Line(Struct, frozen=True, gc=False):
    """Names as in the table, where the log line has others."""

    aws: Aws = field(name="_aws")
    event: Literal["conversion", "init", "skipped"]
    function: Text = field(name="FunctionName")
    style: Text = field(name="Style")
    source: Text = field(name="Source")
    environment: Text | None = None
    precision: Text | None = None
    kernel: Text | None = None
    processor: Text | None = None
    version: Text | None = None
    error: Text | None = None
    cache: Text | None = None
    input_format: Text | None = None
    output_format: Text | None = None
    cold_start: bool | None = None
    progressive: bool | None = None

    duration: First = field(name="Duration", default=NONE)
    queue: First = field(name="QueueDuration", default=NONE)
    decode: First = field(name="DecodeDuration", default=NONE)
    preprocess: First = field(name="PreprocessDuration", default=NONE)
    inference: First = field(name="InferenceDuration", default=NONE)
    postprocess: First = field(name="PostprocessDuration", default=NONE)
    encode: First = field(name="EncodeDuration", default=NONE)
    face: First = field(name="FaceDuration", default=NONE)
    s3_get: First = field(name="S3GetDuration", default=NONE)
    s3_put: First = field(name="S3PutDuration", default=NONE)
    cpu: First = field(name="CpuTime", default=NONE)
    utilisation: First = field(name="CpuUtilization", default=NONE)
    memory: First = field(name="MemoryUsed", default=NONE)
    max_memory: First = field(name="MaxMemoryUsed", default=NONE)
    input_pixels: FirstCount = field(name="InputPixels", default=NO_COUNT)
    init: First = field(name="InitDuration", default=NONE)
    load: First = field(name="load_average", default=NONE)
    stage_cpu: StageCpu = NO_CPU

    output_width: Short | None = None
    output_height: Short | None = None
    input_bytes: Whole | None = None
    output_bytes: Whole | None = None
    threads: Short | None = None
    vcpus: Amount | None = None
    memory_size: Short | None = None
    # The kernel's counter goes back a little now and then, so this one may be below zero.
    steal: Annotated[float, Meta(ge=-1e12, le=1e12)] | None = field(name="steal_time", default=None)
    switches: Whole | None = field(name="involuntary_switches", default=None)
    major_faults: Whole | None = None
    minor_faults: Whole | None = None
    import_ms: Amount | None = None
    load_ms: Amount | None = None
    warm_up_ms: Amount | None = None
