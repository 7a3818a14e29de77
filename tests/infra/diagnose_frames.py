"""Tables of conversions, made up: what a machine logs under traffic of one kind, one part after the other.

The figures are those of `animegan serve` on two CPUs with bfloat16: 2,300 ms of inference a megapixel in 3,700
ms of CPU time, which is 1.24 times what two threads would take if neither ever waited.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

EPOCH = datetime(2026, 11, 30, 14, 0, tzinfo=UTC)
WORK, CODEC = 3700.0, {"jpeg": 25.0, "png": 60.0, "webp": 50.0}  # ms of a megapixel
OUT = {"jpeg": 10.0, "png": 190.0, "webp": 190.0}


@dataclass
class Part:
    """Traffic of one kind: `sides` of photos and pictures in pixels, `stretch` of wall time over CPU time."""

    count: int = 48
    environment: str = "a"
    sides: tuple[int, ...] = (192,)
    photo_side: int | None = None
    styles: tuple[str, ...] = ("cel",)
    precision: str = "bfloat16"
    kernel: str | None = "native"
    formats: tuple[str, ...] = ("jpeg",)
    outputs: tuple[str, ...] = ("jpeg",)
    progressive: bool = False
    bytes_per_pixel: float = 0.25
    work: float = WORK
    stretch: float = 1.24
    switching: float = 60.0
    load: float = 1.4
    stolen: float = 0.0
    faults: float = 0.0
    threads: int = 2
    vcpus: float = 2.0
    memory: float = 320.0
    leak: float = 0.0
    queue: float = 0.2
    s3: tuple[float, float] | None = None
    hits: float | None = None
    cold: float = 0.0
    lifetime: int = 0
    busy: float = 0.0
    every_ms: float = 130.0
    noise: float = 0.06
    drift: float = 0.0
    more: dict[str, Any] = field(default_factory=dict)


def log(*parts: Part, seed: int = 0, init: float = 2200.0) -> pl.DataFrame:
    """The parts one after the other, each environment with its init line, and its first conversion cold."""
    random = np.random.default_rng(seed)
    at, seen, rows = EPOCH, set[str](), list[dict[str, Any]]()
    speed = 0.0
    for part in parts:
        for number in range(part.count):
            speed = 0.95 * speed + part.drift * random.normal()
            fresh = part.environment not in seen
            due = part.lifetime and number % part.lifetime == 0
            cold = fresh or bool(due) or bool(random.random() < part.cold)
            name = part.environment if fresh or not cold else f"{part.environment}{len(seen)}"
            if cold:
                seen.add(name)
                rows.append({"at": at, "event": "init", "environment": name, "init": init})
                at += timedelta(milliseconds=init)
            row = _conversion(part, number, float(np.exp(speed)), random)
            busy_ms = row["duration"] - row["queue"] if part.queue < 5 else 0.0
            at += timedelta(milliseconds=max(part.every_ms, busy_ms))
            rows.append({**row, "at": at, "environment": name, "cold_start": cold, **part.more})
    return table(rows)


def table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(pl.col("at").cast(pl.Datetime("ms", "UTC"))).sort("at", maintain_order=True)


def _conversion(part: Part, number: int, speed: float, random: np.random.Generator) -> dict[str, Any]:
    def noisy(value: float) -> float:
        return float(value * np.exp(part.noise * random.normal())) * speed

    if random.random() < part.busy:
        return {"event": "conversion", "error": "busy", "duration": 0.1, "queue": 0.0, "source": "server"}
    side = int(random.choice(part.sides))
    pixels, photo = side * side, (part.photo_side or side) ** 2
    kind, output = str(random.choice(part.formats)), str(random.choice(part.outputs))
    hit = part.hits is not None and bool(random.random() < part.hits)
    cpu = noisy(part.work * pixels / 1e6)
    spent = {
        "decode": noisy(0.3 + CODEC[kind] * (3 if part.progressive else 1) * photo / 1e6),
        "preprocess": noisy(0.25),
        "inference": cpu * part.stretch * float(np.exp(0.05 * random.normal())) / min(part.threads, part.vcpus),
        "postprocess": noisy(0.5),
        "encode": noisy(0.1 + OUT[output] * pixels / 1e6),
    }
    spent = {} if hit else spent
    service = sum(spent.values())
    s3 = {} if part.s3 is None else {"s3_get": noisy(part.s3[0]), "s3_put": noisy(part.s3[1])}
    queue = part.queue * float(random.exponential())
    return {
        "event": "conversion",
        "source": "s3" if part.s3 else "server",
        "style": str(random.choice(part.styles)),
        "precision": None if hit else part.precision,
        "kernel": None if hit else part.kernel,
        **spent,
        **s3,
        "queue": queue,
        "duration": service + queue + sum(s3.values()) + noisy(0.5),
        "inference_cpu": None if hit else cpu,
        "decode_cpu": spent.get("decode"),
        "cpu": service,
        "memory": part.memory + part.leak * number + 3 * float(random.normal()),
        "input_pixels": photo,
        "output_pixels": pixels,
        "input_bytes": int(photo * 0.3),
        "output_bytes": int(pixels * part.bytes_per_pixel * (1 if output == "jpeg" else 4)),
        "input_format": kind,
        "output_format": output,
        "progressive": part.progressive,
        "threads": part.threads,
        "vcpus": part.vcpus,
        "load": part.load,
        "steal": part.stolen * service / 1000 * part.vcpus,
        "switches": int(random.poisson(part.switching * service / 1000)),
        "major_faults": int(random.poisson(part.faults)),
        "minor_faults": 5000,
        "cache": "off" if part.hits is None else "hit" if hit else "miss",
        "error": None,
    }
