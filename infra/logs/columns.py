"""The table's columns: what each is called, where a line has it, and how it is kept.

Times are in milliseconds, memory in MiB, steal time in seconds. Null is what a line does not say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any

import polars as pl

AT = pl.Datetime("ms", "UTC")
NAME, REAL, COUNT, SMALL = pl.Categorical(), pl.Float32(), pl.UInt32(), pl.UInt16()

# column: (attribute of Line, type). The first one is put in by the reader where a line has none.
FROM: dict[str, tuple[str, pl.DataType]] = {
    "environment": ("environment", NAME),
    "at": ("aws.timestamp", pl.Int64()),
    "event": ("event", NAME),
    "function": ("function", NAME),
    "style": ("style", NAME),
    "source": ("source", NAME),
    "precision": ("precision", NAME),
    "kernel": ("kernel", NAME),
    "processor": ("processor", NAME),
    "version": ("version", NAME),
    **{
        name: (f"{name}.value", REAL)
        for name in ("duration", "queue", "decode", "preprocess", "inference", "postprocess", "encode", "face")
    },
    "s3_get": ("s3_get.value", REAL),
    "s3_put": ("s3_put.value", REAL),
    "cpu": ("cpu.value", REAL),
    "decode_cpu": ("stage_cpu.decode", REAL),
    "inference_cpu": ("stage_cpu.inference", REAL),
    "utilisation": ("utilisation.value", REAL),
    "memory": ("memory.value", REAL),
    "max_memory": ("max_memory.value", REAL),
    "input_pixels": ("input_pixels.value", pl.Float64()),
    "output_width": ("output_width", COUNT),
    "output_height": ("output_height", COUNT),
    "input_bytes": ("input_bytes", COUNT),
    "output_bytes": ("output_bytes", COUNT),
    "input_format": ("input_format", NAME),
    "output_format": ("output_format", NAME),
    "cold_start": ("cold_start", pl.Boolean()),
    "error": ("error", NAME),
    "threads": ("threads", SMALL),
    "vcpus": ("vcpus", REAL),
    "memory_size": ("memory_size", SMALL),
    "load": ("load.value", REAL),
    "steal": ("steal", REAL),
    "switches": ("switches", COUNT),
    "major_faults": ("major_faults", COUNT),
    "minor_faults": ("minor_faults", COUNT),
    "cache": ("cache", NAME),
    "progressive": ("progressive", pl.Boolean()),
    "init": ("init.value", REAL),
    "import_ms": ("import_ms", REAL),
    "load_ms": ("load_ms", REAL),
    "warm_up_ms": ("warm_up_ms", REAL),
}
# As the table is handed out.
SCHEMA = pl.Schema(
    {
        "at": AT,
        **{name: kind for name, (_, kind) in FROM.items() if name not in ("at", "output_width", "output_height")},
        "output_pixels": COUNT,
        "input_pixels": COUNT,
    }
)


class Shape:
    """Which columns a table has: all, or `only` those, with `at` and `environment`. Half take half the memory."""

    def __init__(self, only: Collection[str] | None = None) -> None:
        wanted = {"at", "environment", *(SCHEMA if only is None else only)}
        sides = {"output_width", "output_height"} if "output_pixels" in wanted else set()
        self._from = {name: found for name, found in FROM.items() if name in wanted | sides}
        self._names = [name for name in SCHEMA if name in wanted]
        self._derived = [derived for name, derived in DERIVED.items() if name in wanted]
        self.row_of = attrgetter(*(path for path, _ in self._from.values()))

    def table(self, rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
        """Rows of `row_of` as a piece of the table."""
        columns = zip(*rows, strict=True) if rows else ((),) * len(self._from)
        kinds = ((name, kind) for name, (_, kind) in self._from.items())
        raw = [pl.Series(name, cells, kind) for (name, kind), cells in zip(kinds, columns, strict=True)]
        return pl.DataFrame(raw).with_columns(self._derived).select(self._names)


# What is not as the line has it.
DERIVED = {
    "at": pl.col("at").cast(AT),
    "decode_cpu": pl.col("decode_cpu") * 1000,
    "inference_cpu": pl.col("inference_cpu") * 1000,
    "input_pixels": pl.col("input_pixels").cast(COUNT),
    "output_pixels": (pl.col("output_width") * pl.col("output_height")).alias("output_pixels").cast(COUNT),
}
