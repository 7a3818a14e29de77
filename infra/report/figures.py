"""The figures of a set of log lines: counts, percentiles of times, CPU and memory, cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# In the order in which a conversion goes through them; `duration` is all of it, from the wait to the last byte.
STAGES = ("queue", "s3_get", "decode", "preprocess", "face", "inference", "postprocess", "encode", "s3_put")
SPREAD = (*STAGES, "duration", "cpu", "utilisation", "memory")
# Of the table of lines, what a report needs.
COLUMNS = (
    *("event", "style", "source", "cold_start", "cache", "error", "init", "max_memory", "memory_size"),
    *("input_pixels", "output_pixels"),
    *SPREAD,
)
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Spread:
    """Half, nine tenths and 99 in 100 of the values are at most this."""

    p50: float
    p90: float
    p99: float


@dataclass(frozen=True, slots=True)
class Init:
    """Init phases, in ms."""

    count: int = 0
    time: Spread | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What Lambda bills for conversions and inits. `unpriced` conversions have no memory size: not on Lambda."""

    gb_seconds: float = 0.0
    requests: int = 0
    usd: float | None = None
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class Figures:
    """Times in ms, memory in MiB, utilisation in % of the CPUs; percentiles are of conversions that went well.

    `failed` have an error code; `refused` are those of them that were told to come back, as no slot was free.
    """

    conversions: int = 0
    failed: int = 0
    refused: int = 0
    skipped: int = 0
    cold_starts: int = 0
    cache_hits: int = 0
    environments: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    init: Init = Init()
    stages: Mapping[str, Spread] = field(default_factory=dict)
    duration: Spread | None = None
    cpu_time: Spread | None = None
    cpu_utilisation: Spread | None = None
    memory: Spread | None = None
    max_memory: float | None = None
    cost: Cost = Cost()

    @property
    def failed_share(self) -> float:
        return self.failed / self.conversions if self.conversions else 0.0

    def as_json(self) -> dict[str, Any]:
        """Keys as in docs/report.md."""
        said: dict[str, Any] = rounded(asdict(self))
        said["init"] = {"count": self.init.count, **(said["init"]["time"] or dict.fromkeys(PERCENTILES))}
        return said


def rounded(value: Any) -> Any:
    """Floats to what a 32-bit one can tell; costs may be far below a cent."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: rounded(inner) for key, inner in value.items()}
    return value
