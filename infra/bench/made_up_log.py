"""Made-up log lines, as many as wanted: what a reader of logs is measured with.

They have the shape and the length of real ones (1.5 KB) and plausible figures; they say nothing about conversions.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

STAGES = ("decode", "preprocess", "inference", "postprocess", "encode")
COSTS = {"decode": 0.03, "preprocess": 0.01, "inference": 1.0, "postprocess": 0.01, "encode": 0.05}  # of inference
METRICS = (
    *(("QueueDuration", "Milliseconds"), ("Duration", "Milliseconds"), ("CpuTime", "Milliseconds")),
    *((f"{stage.capitalize()}Duration", "Milliseconds") for stage in STAGES),
    *(("CpuUtilization", "Percent"), ("InputPixels", "Count"), ("ConversionErrors", "Count")),
    *(("ColdStart", "Count"), ("MemoryUsed", "Megabytes"), ("MaxMemoryUsed", "Megabytes")),
)
STYLES, SOURCES = ("cel", "hayao", "paprika"), ("http-api", "s3-sqs", "function-url")
FORMATS, ERRORS = ("jpeg", "png", "webp"), ("corrupt_image", "unsupported_format", "out_of_time")
DAY_MS = 86_400_000
DISTINCT = 20_000
BEGIN_MS = 1_796_000_000_000  # late November 2026


def lines(count: int, seed: int = 0, days: int = 14, environments: int = 40) -> Iterator[str]:
    """`count` lines in the order of time, spread over `days`. After `DISTINCT` only their times are new."""
    chance = random.Random(seed)
    made = [_parted(chance, f"2026/11/30/[$LATEST]{index % environments:032x}") for index in range(DISTINCT)]
    for index in range(count):
        before, after = made[index % DISTINCT]
        yield f"{before}{BEGIN_MS + index * days * DAY_MS // count}{after}\n"


def _parted(chance: random.Random, stream: str) -> tuple[str, str]:
    """What stands before and after the time."""
    before, _, after = json.dumps(conversion(chance, BEGIN_MS, stream)).partition(str(BEGIN_MS))
    return before, after


def conversion(chance: random.Random, at: int, stream: str) -> dict[str, Any]:
    """One line as handler/metrics.py leaves it."""
    width, height = chance.choice(((1024, 768), (4032, 3024), (800, 800), (1600, 1200)))
    scale = 1024 / max(width, height)
    wall = {stage: 600 * cost * chance.lognormvariate(0, 0.2) for stage, cost in COSTS.items()}
    return {
        "_aws": {"Timestamp": at, "CloudWatchMetrics": [_declared()]},
        **{"FunctionName": "animegan", "Style": chance.choice(STYLES), "Source": chance.choice(SOURCES)},
        **{"event": "conversion", "environment": stream, "memory_size": chance.choice((1769, 3008))},
        "request_id": f"{chance.getrandbits(128):032x}",
        **{"cold_start": chance.random() < 0.01, "input_bytes": width * height // 5},
        **{"input_format": chance.choice(FORMATS), "input_width": width, "input_height": height},
        **{"precision": "bfloat16", "cache": "off", "progressive": False, "output_format": "png"},
        **{"output_width": round(width * scale), "output_height": round(height * scale)},
        **{"output_bytes": 1_200_000, "warnings": []},
        "stage_cpu": {stage: round(spent / 550, 4) for stage, spent in wall.items()},
        **{"threads": 2, "vcpus": 1.7, "load_average": [1.53, 1.09, 0.53], "steal_time": 0.0},
        **{"involuntary_switches": chance.randrange(300), "major_faults": 0, "minor_faults": 5119},
        "error": chance.choice(ERRORS) if chance.random() < 0.01 else None,
        **_measured(chance, wall, width * height),
    }


def _declared() -> dict[str, Any]:
    named = [{"Name": name, "Unit": unit} for name, unit in METRICS]
    return {"Namespace": "AnimeGAN", "Dimensions": [["FunctionName", "Style", "Source"]], "Metrics": named}


def _measured(chance: random.Random, wall: dict[str, float], pixels: int) -> dict[str, list[float]]:
    queue, total = chance.expovariate(1 / 40), sum(wall.values())
    return {
        "QueueDuration": [round(queue, 2)],
        **{f"{stage.capitalize()}Duration": [round(spent, 2)] for stage, spent in wall.items()},
        **{"Duration": [round(total + queue, 2)], "CpuTime": [round(total * 1.6, 2)], "CpuUtilization": [94.1]},
        **{"InputPixels": [float(pixels)], "ConversionErrors": [0.0], "ColdStart": [0.0]},
        **{"MemoryUsed": [round(700 + 50 * chance.random(), 1)], "MaxMemoryUsed": [812.4]},
    }
