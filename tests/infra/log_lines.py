"""Makes log lines of ours, and wraps them as the ways to fetch a log do."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

START = 1_796_040_000_000  # 2026-11-30 12:00 UTC, in ms
STREAM = "2026/11/30/[$LATEST]0123456789abcdef0123456789abcdef"
FOREIGN = (
    "INIT_START Runtime Version: python:3.12.v85\tRuntime Version ARN: arn:aws:lambda:us-east-1::runtime:0b1c",
    "START RequestId: 017a540a-f6bd-4c7b-ae8b-85c5cf2dd7e1 Version: $LATEST",
    "END RequestId: 017a540a-f6bd-4c7b-ae8b-85c5cf2dd7e1",
    "REPORT RequestId: 017a540a\tDuration: 97.31 ms\tBilled Duration: 98 ms\tMemory Size: 1769 MB",
    'INFO:     127.0.0.1:51234 - "POST /convert HTTP/1.1" 200 OK',
    '{"level": "WARNING", "message": "something of a library"}',
    '{"_aws": {"Timestamp": 1, "CloudWatchMetrics": []}, "event": "order", "Orders": [1.0]}',
)


def line(at: int = 0, **more: Any) -> dict[str, Any]:
    """A conversion `at` ms after START, as handler/metrics.py writes them; None takes a key away."""
    said = {
        "_aws": {"Timestamp": START + at, "CloudWatchMetrics": [{"Namespace": "AnimeGAN", "Metrics": []}]},
        **{"FunctionName": "animegan", "Style": "cel", "Source": "http-api", "event": "conversion"},
        **{"environment": "local-1-a", "memory_size": None, "request_id": "017a540a", "cold_start": False},
        **{"input_bytes": 1000, "input_format": "jpeg", "input_width": 800, "input_height": 600},
        **{
            "precision": "bfloat16",
            "kernel": "native",
            "cache": "miss",
            "progressive": True,
            "output_format": "png",
        },
        **{"output_width": 400, "output_height": 300, "output_bytes": 5000, "warnings": []},
        "stage_cpu": {"decode": 0.0056, "inference": 0.0838, "encode": 0.0002},
        **{"threads": 2, "vcpus": 1.7, "load_average": [1.53, 1.09, 0.53], "steal_time": 0.01},
        **{"involuntary_switches": 26, "major_faults": 1, "minor_faults": 5119, "error": None},
        **{"DecodeDuration": [5.0], "PreprocessDuration": [1.0], "InferenceDuration": [84.0]},
        **{"PostprocessDuration": [0.5], "EncodeDuration": [2.0], "Duration": [100.0], "CpuTime": [91.0]},
        **{"CpuUtilization": [50.0], "InputPixels": [480000.0], "ConversionErrors": [0.0], "ColdStart": [0.0]},
        **{"MemoryUsed": [307.1], "MaxMemoryUsed": [309.9]},
    }
    return {key: value for key, value in {**said, **more}.items() if key not in more or more[key] is not None}


def init(at: int = 0, **more: Any) -> dict[str, Any]:
    said = {"event": "init", "Source": "init", "InitDuration": [3000.0], "Duration": None, "input_width": None}
    said |= {"InputPixels": None, "import_ms": 2000.0, "load_ms": 200.0, "warm_up_ms": 800.0, "cold_start": None}
    return line(at, **{**said, **more})


def skipped(at: int = 0) -> dict[str, Any]:
    return line(at, event="skipped", Source="s3-sqs", Style="unknown", Duration=None, reason="it has its picture")


def text(lines: Sequence[Any]) -> str:
    """Dictionaries as JSON, strings as they are, one a line."""
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in lines)


def without_environment(at: int = 0) -> str:
    return json.dumps(line(at, environment=None))


def events(messages: Sequence[str], stream: str = STREAM) -> list[dict[str, Any]]:
    """As filter-log-events has them; messages from Lambda keep their line break."""
    return [
        {
            "logStreamName": stream,
            "timestamp": START + index,
            "message": f"{message}\n",
            "ingestionTime": START + 900,
            "eventId": f"38{index:054}",
        }
        for index, message in enumerate(messages)
    ]


def insights(messages: Sequence[str]) -> dict[str, Any]:
    """As get-query-results answers."""
    rows = [
        [
            {"field": "@timestamp", "value": "2026-11-30 12:00:00.000"},
            {"field": "@message", "value": message},
            {"field": "@logStream", "value": STREAM},
            {"field": "@ptr", "value": "CmEKJgoiMTIz"},
        ]
        for message in messages
    ]
    return {"queryLanguage": "CWLI", "results": rows, "statistics": {"recordsMatched": 2.0}, "status": "Complete"}


def insights_csv(messages: Sequence[str]) -> str:
    """As the console exports a table."""
    out = io.StringIO()
    table = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    table.writerow(["@timestamp", "@message", "@logStream"])
    table.writerows(["2026-11-30 12:00:00.000", message, STREAM] for message in messages)
    return out.getvalue()


def export(messages: Sequence[str]) -> bytes:
    """A file of an export to S3."""
    return gzip.compress("".join(f"{iso()}Z {message}\n" for message in messages).encode())


def subscription(messages: Sequence[str]) -> str:
    """What a subscription sends, through Firehose to S3: documents without a line break between them."""
    said = {"messageType": "DATA_MESSAGE", "owner": "123456789012", "logGroup": "/aws/lambda/f"}
    said |= {"logStream": STREAM}
    documents = ({**said, "logEvents": [{"id": "1", "timestamp": 1, "message": message}]} for message in messages)
    return "".join(json.dumps(document) for document in documents)


def iso(at: int = 0) -> str:
    return datetime.fromtimestamp((START + at) / 1000, UTC).isoformat(timespec="milliseconds")[:23]
