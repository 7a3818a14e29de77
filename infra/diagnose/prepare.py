"""A table of infra.logs cleaned, with what follows from its columns.

Derived, in ms where nothing else is said:

    service     decode to encode and faces: what the conversion itself took
    s3          get and put; null where there was no S3
    latency     what the caller waited: queue, service, S3, the rest
    megapixels  of the picture made
    photo       megapixels of the photo
    pace        inference per megapixel
    work        CPU time of the inference per megapixel
    capacity    CPUs that a conversion's threads can use
    stretch     inference over what its CPU time takes at full speed: 1 where no thread ever waits
    switching   involuntary context switches a second of service
    stolen      share of the CPUs' time that the hypervisor gave to others
"""

from __future__ import annotations

import polars as pl

from infra.diagnose.rows import Rows

STAGES = ("decode", "preprocess", "inference", "postprocess", "encode", "face")
# fmt: off
TEXTS = (
    "environment", "style", "precision", "kernel", "processor", "input_format", "output_format", "cache", "error",
    "event",
)
# fmt: off
NUMBERS = (
    *STAGES, "duration", "queue", "s3_get", "s3_put", "decode_cpu", "inference_cpu", "init",
    "input_pixels", "output_pixels", "input_bytes", "output_bytes", "memory", "memory_size",
    "threads", "vcpus", "load", "steal", "switches", "major_faults",
)
# fmt: on
FLAGS = ("cold_start", "progressive")
UNNAMED = "unnamed"  # lines that say no environment count as of one
MOST = 1e12  # above any time, size or count that a conversion can have; what is above is damage


def prepared(frame: pl.DataFrame) -> Rows:
    """A frame of infra.logs, or one that lacks columns; damaged values become null."""
    columns = (_at(), *_texts(frame), *_numbers(frame), *_flags(frame))
    derived = (
        frame.select(columns)
        .drop_nulls("at")
        .sort("at", maintain_order=True)
        .with_columns(
            environment=pl.col("environment").fill_null(UNNAMED),
            queue=pl.col("queue").fill_null(0.0),
            service=pl.sum_horizontal(pl.col(name).fill_null(0.0) for name in STAGES),
            s3=pl.when(pl.any_horizontal(pl.col("s3_get", "s3_put").is_not_null())).then(
                pl.sum_horizontal(pl.col("s3_get", "s3_put").fill_null(0.0))
            ),
            megapixels=_positive("output_pixels") / 1e6,
            photo=_positive("input_pixels") / 1e6,
            capacity=pl.min_horizontal("threads", "vcpus"),
        )
    )
    return Rows(derived.with_columns(*_rates(), _latency()))


def _rates() -> list[pl.Expr]:
    inference, cpu = _positive("inference"), _positive("inference_cpu")
    seconds = pl.when(pl.col("service") > 0).then(pl.col("service") / 1000)
    return [
        (inference / pl.col("megapixels")).alias("pace"),
        (cpu / pl.col("megapixels")).alias("work"),
        (inference * pl.col("capacity") / cpu).alias("stretch"),
        (pl.col("switches") / seconds).alias("switching"),
        (pl.col("steal") / (seconds * _positive("vcpus"))).alias("stolen"),
    ]


def _latency() -> pl.Expr:
    # Duration has queue and S3 in it; where it does not, or is missing, the parts say more.
    parts = pl.col("queue") + pl.col("service") + pl.col("s3").fill_null(0.0)
    return pl.max_horizontal(pl.col("duration").fill_null(0.0), parts).alias("latency")


def _positive(name: str) -> pl.Expr:
    return pl.when(pl.col(name) > 0).then(pl.col(name))


def _at() -> pl.Expr:
    return pl.col("at").cast(pl.Datetime("ms", "UTC"))


def _texts(frame: pl.DataFrame) -> list[pl.Expr]:
    return [_column(frame, name, pl.String()).alias(name) for name in TEXTS]


def _flags(frame: pl.DataFrame) -> list[pl.Expr]:
    return [_column(frame, name, pl.Boolean()).alias(name) for name in FLAGS]


def _numbers(frame: pl.DataFrame) -> list[pl.Expr]:
    """As floats; what is negative, infinite, or larger than anything can be is unknown."""
    values = ((name, _column(frame, name, pl.Float64())) for name in NUMBERS)
    return [pl.when(value.is_between(0, MOST)).then(value).alias(name) for name, value in values]


def _column(frame: pl.DataFrame, name: str, kind: pl.DataType) -> pl.Expr:
    return pl.col(name).cast(kind) if name in frame.columns else pl.lit(None, kind)
