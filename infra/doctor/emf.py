"""Whether a line is CloudWatch's embedded metric format, by its specification and PutMetricData's limits.

Source: AWS, "Specification: Embedded metric format" and the API reference of MetricDatum. CloudWatch says nothing
of a line that breaks a rule; its metrics are simply missing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

UNITS = {"Milliseconds", "Seconds", "Microseconds", "Megabytes", "Bytes", "Kilobytes", "Count", "Percent", "None"}
MOST_METRICS, MOST_VALUES, MOST_DIMENSIONS = 100, 100, 30
MOST_TEXT = 1024  # characters of a namespace, a name or a dimension's value
MOST_BYTES = 1024 * 1024  # of one event in a log
LARGEST, SMALLEST = 2.0**360, 2.0**-360  # of a value, but for 0


def faults(text: str) -> list[str]:
    """What is wrong with one line of log; nothing if it is right."""
    try:
        line = json.loads(text)
    except ValueError:
        return [f"is no JSON: {text[:60]!r}"]
    try:
        return [*_line(line, len(text.encode()))]
    except (KeyError, TypeError, AttributeError, IndexError) as missing:
        return [f"lacks what the specification asks for ({type(missing).__name__}: {missing})"]


def _line(line: dict[str, Any], size: int) -> Iterator[str]:
    if size > MOST_BYTES:
        yield f"has {size:,} bytes"
    if not isinstance(line["_aws"]["Timestamp"], int):
        yield "has a Timestamp that is no whole number of milliseconds"
    if not line["_aws"]["CloudWatchMetrics"]:
        yield "has no metric"
    for directive in line["_aws"]["CloudWatchMetrics"]:
        yield from _directive(line, directive)


def _directive(line: dict[str, Any], directive: dict[str, Any]) -> Iterator[str]:
    if not 1 <= len(directive["Namespace"]) <= MOST_TEXT or directive["Namespace"].startswith("AWS/"):
        yield f"has the namespace {directive['Namespace']!r}"
    if not 1 <= len(directive["Metrics"]) <= MOST_METRICS:
        yield f"has {len(directive['Metrics'])} metrics"
    for name in {name for names in directive["Dimensions"] for name in names}:
        if not (isinstance(line[name], str) and 1 <= len(line[name]) <= MOST_TEXT):
            yield f"has no text for the dimension {name}"
    if any(len(names) > MOST_DIMENSIONS for names in directive["Dimensions"]):
        yield "has too many dimensions"
    for metric in directive["Metrics"]:
        yield from _metric(line, metric)


def _metric(line: dict[str, Any], metric: dict[str, str]) -> Iterator[str]:
    values = line[metric["Name"]]
    values = values if isinstance(values, list) else [values]
    if metric.get("Unit", "None") not in UNITS:
        yield f"has the unit {metric['Unit']!r}"
    if not (1 <= len(values) <= MOST_VALUES and all(map(_is_value, values))):
        yield f"has {values!r:.60} as {metric['Name']}"


def _is_value(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value == 0 or SMALLEST <= abs(value) <= LARGEST
