"""The log line: where a conversion's time, CPU and memory went, in CloudWatch's embedded metric format."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from handler import counters
from handler.stages import TIMED, Stages, Usage, milliseconds

MIB = 1024 * 1024
DIMENSIONS = ("FunctionName", "Style", "Source")
DURATIONS = {name: f"{name.capitalize()}Duration" for name in TIMED}
DURATIONS |= {"s3_get": "S3GetDuration", "s3_put": "S3PutDuration"}
UNITS = {
    **dict.fromkeys((*DURATIONS.values(), "Duration", "CpuTime", "InitDuration"), MetricUnit.Milliseconds),
    **dict.fromkeys(("InputPixels", "ConversionErrors", "ColdStart", "ObjectsSkipped"), MetricUnit.Count),
    **dict.fromkeys(("MemoryUsed", "MaxMemoryUsed"), MetricUnit.Megabytes),
    "CpuUtilization": MetricUnit.Percent,
}


def environment() -> str:
    """This process among all that run the function: Lambda's log stream, else process id and start in hex."""
    return os.environ.get("AWS_LAMBDA_LOG_STREAM_NAME") or f"local-{os.getpid()}-{int(_started() * 1000):x}"


def _started() -> float:
    import psutil  # at Lambda's cold start nobody asks

    return psutil.Process().create_time()


def memory_size() -> int | None:
    """The function's memory in MB; None outside Lambda."""
    said = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "")
    return int(said) if said.isdecimal() else None


@dataclass(frozen=True, slots=True)
class LogLines:
    """Writes CloudWatch embedded metric format, one bare JSON line on stdout per conversion or init."""

    vcpus: float
    threads: int
    function_name: str = field(default_factory=lambda: os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "animegan"))
    namespace: str = "AnimeGAN"
    environment: str = field(default_factory=environment)
    memory_size: int | None = field(default_factory=memory_size)

    def conversion(
        self,
        stages: Stages,
        style: str,
        source: str,
        pixels: int,
        error: str | None,
        properties: Mapping[str, Any],
    ) -> None:
        """One conversion, done or failed. `pixels` as in the input's header, 0 when it never was read.

        Duration is what the user waits for: the wait for a slot, and all since the recorder began. For an object
        of S3 that is from its turn in the event until its picture is put.
        """
        total = stages.total()
        metrics = {
            **{DURATIONS[name]: milliseconds(stages.used[name].wall) for name in TIMED if name in stages.used},
            "Duration": milliseconds(total.wall + stages.queued),
            "CpuTime": milliseconds(total.cpu),
            "CpuUtilization": round(100 * total.cpu / (total.wall * self.vcpus), 1),
            "InputPixels": pixels,
            "ConversionErrors": 0 if error is None else 1,
            "ColdStart": 1 if properties.get("cold_start") else 0,
            **memory(),
        }
        self._write(
            "conversion", metrics, style, source, {**properties, **self._process(stages, total), "error": error}
        )

    def init(self, style: str, duration: float, properties: Mapping[str, Any]) -> None:
        """The init phase; `duration` in seconds."""
        metrics = {"InitDuration": milliseconds(duration), **memory()}
        self._write("init", metrics, style, "init", {**properties, "threads": self.threads, "vcpus": self.vcpus})

    def skipped(self, source: str, properties: Mapping[str, Any]) -> None:
        """An S3 object, or a message about one, that needs no conversion; `properties` say why."""
        self._write("skipped", {"ObjectsSkipped": 1}, "unknown", source, properties)

    def _process(self, stages: Stages, total: Usage) -> dict[str, Any]:
        return {
            "stage_cpu": {name: round(used.cpu, 4) for name, used in stages.used.items() if name != "queue"},
            "threads": self.threads,
            "vcpus": self.vcpus,
            "load_average": counters.load_average(),
            "steal_time": round(stages.stolen(), 3),
            "involuntary_switches": total.involuntary_switches,
            "major_faults": total.major_faults,
            "minor_faults": total.minor_faults,
        }

    def _write(
        self,
        event: str,
        metrics: Mapping[str, float],
        style: str,
        source: str,
        properties: Mapping[str, Any],
    ) -> None:
        line = {
            **dict(zip(DIMENSIONS, (self.function_name, style, source), strict=True)),
            "event": event,
            "environment": self.environment,
            "memory_size": self.memory_size,
            **properties,
            **{name: [value] for name, value in metrics.items()},
        }
        directives, now = _directives(self.namespace, tuple(metrics)), int(time.time() * 1000)
        aws = f'{{"Timestamp": {now}, "CloudWatchMetrics": {directives}}}'
        sys.stdout.write(f'{{"_aws": {aws}, {json.dumps(line)[1:]}\n')
        sys.stdout.flush()


@lru_cache(maxsize=256)
def _directives(namespace: str, metrics: tuple[str, ...]) -> str:
    """`CloudWatchMetrics` of a line, in JSON. Powertools makes it and checks units, names and their number; but
    once for each set of metrics, as that is most of what a line costs (docs/performance.md).
    """
    # No service: Powertools would add it as a fourth dimension, and each dimension multiplies the bill.
    emf = AmazonCloudWatchEMFProvider(
        metric_set={}, dimension_set={}, metadata_set={}, namespace=namespace, service=""
    )
    emf.service = ""
    for name in metrics:
        emf.add_metric(name=name, unit=UNITS[name], value=0)
    for dimension in DIMENSIONS:
        emf.add_dimension(name=dimension, value=dimension)
    return json.dumps(emf.serialize_metric_set()["_aws"]["CloudWatchMetrics"])


def memory() -> dict[str, float]:
    """Resident memory now, and the most since the process began, in MiB."""
    now = counters.resident()
    # ru_maxrss is in kilobytes on Linux and in bytes on macOS (getrusage(2)).
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    # The kernel counts in batches per CPU, so its peak may be some pages below what there is (proc(5), statm).
    return {"MemoryUsed": round(now / MIB, 1), "MaxMemoryUsed": round(max(now, peak) / MIB, 1)}
