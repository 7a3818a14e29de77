"""The log line: where a conversion's time, CPU and memory went, in CloudWatch's embedded metric format."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from handler.stages import STAGES, TIMED, Stages, Usage, milliseconds

MIB = 1024 * 1024

_process = psutil.Process()


@dataclass(frozen=True, slots=True)
class LogLines:
    """Writes CloudWatch embedded metric format, one bare JSON line on stdout per conversion or init."""

    vcpus: float
    threads: int
    function_name: str = field(default_factory=lambda: os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "animegan"))
    namespace: str = "AnimeGAN"

    def conversion(
        self,
        stages: Stages,
        style: str,
        source: str,
        pixels: int,
        error: str | None,
        properties: Mapping[str, Any],
    ) -> None:
        """One conversion, done or failed. `pixels` as in the input's header, 0 when it never was read."""
        total = stages.total()
        metrics: dict[str, tuple[MetricUnit, float]] = {
            f"{name.capitalize()}Duration": (MetricUnit.Milliseconds, milliseconds(stages.used[name].wall))
            for name in TIMED
            if name in stages.used
        }
        metrics |= {
            "Duration": (MetricUnit.Milliseconds, milliseconds(total.wall + stages.queued)),
            "CpuTime": (MetricUnit.Milliseconds, milliseconds(total.cpu)),
            "CpuUtilization": (MetricUnit.Percent, round(100 * total.cpu / (total.wall * self.vcpus), 1)),
            "InputPixels": (MetricUnit.Count, pixels),
            "ConversionErrors": (MetricUnit.Count, 0 if error is None else 1),
            "ColdStart": (MetricUnit.Count, 1 if properties.get("cold_start") else 0),
            **memory(),
        }
        self._write(
            "conversion", metrics, style, source, {**properties, **self._process(stages, total), "error": error}
        )

    def init(self, style: str, duration: float, properties: Mapping[str, Any]) -> None:
        """The init phase; `duration` in seconds."""
        metrics = {"InitDuration": (MetricUnit.Milliseconds, milliseconds(duration)), **memory()}
        self._write("init", metrics, style, "init", {**properties, "threads": self.threads, "vcpus": self.vcpus})

    def skipped(self, source: str, properties: Mapping[str, Any]) -> None:
        """An S3 object, or a message about one, that needs no conversion; `properties` say why."""
        self._write("skipped", {"ObjectsSkipped": (MetricUnit.Count, 1)}, "unknown", source, properties)

    def _process(self, stages: Stages, total: Usage) -> dict[str, Any]:
        return {
            "stage_cpu": {name: round(stages.used[name].cpu, 4) for name in STAGES if name in stages.used},
            "threads": self.threads,
            "vcpus": self.vcpus,
            "load_average": [round(load, 2) for load in os.getloadavg()],
            "steal_time": round(stages.stolen(), 3),
            "involuntary_switches": total.involuntary_switches,
            "major_faults": total.major_faults,
            "minor_faults": total.minor_faults,
        }

    def _write(
        self,
        event: str,
        metrics: Mapping[str, tuple[MetricUnit, float]],
        style: str,
        source: str,
        properties: Mapping[str, Any],
    ) -> None:
        # No service: Powertools would add it as a fourth dimension, and each dimension multiplies the bill.
        emf = AmazonCloudWatchEMFProvider(
            metric_set={}, dimension_set={}, metadata_set={}, namespace=self.namespace, service=""
        )
        emf.service = ""
        for name, (unit, value) in metrics.items():
            emf.add_metric(name=name, unit=unit, value=value)
        for dimension, said in (("FunctionName", self.function_name), ("Style", style), ("Source", source)):
            emf.add_dimension(name=dimension, value=said)
        for key, detail in {"event": event, **properties}.items():
            emf.add_metadata(key=key, value=detail)
        sys.stdout.write(json.dumps(emf.serialize_metric_set()) + "\n")
        sys.stdout.flush()


def memory() -> dict[str, tuple[MetricUnit, float]]:
    """Resident memory now, and the most since the process began, in MiB."""
    # ru_maxrss is in kilobytes on Linux and in bytes on macOS (getrusage(2)).
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {
        "MemoryUsed": (MetricUnit.Megabytes, round(_process.memory_info().rss / MIB, 1)),
        "MaxMemoryUsed": (MetricUnit.Megabytes, round(peak / MIB, 1)),
    }
