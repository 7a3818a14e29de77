"""The log lines against CloudWatch's embedded metric format, whose rules are written out here by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

from handler.function import Function
from handler.metrics import LogLines
from handler.stages import Stages
from tests.events import Context, http_api
from tests.pictures import asymmetric, encoded

# From AWS's MetricDatum reference; only those that we could use.
UNITS = {"Milliseconds", "Seconds", "Megabytes", "Bytes", "Count", "Percent", "None"}
CONVERSION = {
    *("QueueDuration", "DecodeDuration", "PreprocessDuration", "InferenceDuration", "PostprocessDuration"),
    *("EncodeDuration", "Duration", "CpuTime", "CpuUtilization", "MaxMemoryUsed", "MemoryUsed", "InputPixels"),
    *("ConversionErrors", "ColdStart"),
}
PROPERTIES = {
    *("request_id", "input_format", "input_width", "input_height", "stage_cpu", "threads", "load_average"),
    *("steal_time", "involuntary_switches", "major_faults", "minor_faults", "error", "environment", "memory_size"),
}


def assert_embedded_metric_format(line: dict[str, Any]) -> set[str]:
    """The specification's rules for a document; returns the names of its metrics."""
    assert isinstance(line["_aws"]["Timestamp"], int)
    assert abs(line["_aws"]["Timestamp"] / 1000 - time.time()) < 3600
    names = set()
    for directive in line["_aws"]["CloudWatchMetrics"]:
        assert 1 <= len(directive["Namespace"]) <= 1024
        for dimensions in directive["Dimensions"]:
            assert len(dimensions) <= 30
            assert all(isinstance(line[name], str) and 1 <= len(line[name]) <= 1024 for name in dimensions)
        assert len(directive["Metrics"]) <= 100
        for metric in directive["Metrics"]:
            assert metric["Unit"] in UNITS
            values = line[metric["Name"]]
            values = values if isinstance(values, list) else [values]
            assert 1 <= len(values) <= 100
            assert all(isinstance(value, int | float) for value in values)
            names.add(metric["Name"])
    return names


@pytest.fixture
def lines(function: Function, capsys: pytest.CaptureFixture[str]) -> Any:
    def post(body: bytes, **query: str) -> list[dict[str, Any]]:
        capsys.readouterr()
        function(http_api(body=body, headers={"content-type": "image/jpeg"}, query=query), Context("req-1"))
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return post


def test_a_conversion_leaves_one_line_with_every_metric_and_property(lines: Any, photo: bytes) -> None:
    (line,) = lines(photo)
    assert assert_embedded_metric_format(line) == CONVERSION
    assert line.keys() >= PROPERTIES
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["FunctionName", "Style", "Source"]]
    assert (line["Style"], line["Source"], line["request_id"]) == ("cel", "http-api", "req-1")
    assert (line["InputPixels"], line["ConversionErrors"], line["error"]) == ([96 * 64], [0], None)


@pytest.mark.parametrize(
    ("query", "cut", "error", "style"),
    [
        ({}, 300, "corrupt_image", "cel"),
        ({"style": "oil"}, None, "unknown_style", "unknown"),
        ({"size": "none"}, None, "invalid_parameter", "unknown"),
        ({}, 0, "empty_image", "cel"),
    ],
)
def test_a_failure_leaves_one_line_too(
    lines: Any, photo: bytes, query: dict[str, str], cut: int | None, error: str, style: str
) -> None:
    (line,) = lines(photo[:cut], **query)
    assert_embedded_metric_format(line)
    assert (line["ConversionErrors"], line["error"], line["Style"]) == ([1], error, style)


def test_a_style_that_a_client_made_up_never_becomes_a_dimension(lines: Any, photo: bytes) -> None:
    (line,) = lines(photo, style="x" * 50)
    assert line["Style"] == "unknown"


def test_the_environment_is_the_same_in_every_line_of_a_process_and_in_no_other(
    function: Function, lines: Any, photo: bytes
) -> None:
    first, second = lines(photo) + lines(photo, size="32")
    assert first["environment"] == second["environment"]
    assert first["environment"].startswith(f"local-{os.getpid()}-")
    program = "from handler.metrics import environment; print(environment())"
    others = [subprocess.check_output([sys.executable, "-c", program], text=True) for _ in range(2)]
    assert len({first["environment"], *others}) == 3


def test_in_lambda_the_environment_is_the_log_stream_and_the_memory_size_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_LOG_STREAM_NAME", "2026/11/30/[7]0a1b2c")
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1769")
    log = LogLines(vcpus=1, threads=1)
    log.init("cel", 1.0, {})
    log.skipped("sqs", {})
    log.conversion(Stages(), "cel", "sqs", 1, None, {})
    for line in map(json.loads, capsys.readouterr().out.splitlines()):
        assert (line["environment"], line["memory_size"]) == ("2026/11/30/[7]0a1b2c", 1769)


def test_a_memory_size_that_is_none_is_null_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "much")
    LogLines(vcpus=1, threads=1).init("cel", 1.0, {})
    assert json.loads(capsys.readouterr().out)["memory_size"] is None


@pytest.mark.parametrize(("format", "said"), [("JPEG", False), ("progressive", True), ("PNG", None)])
def test_a_progressive_jpeg_is_told_from_others(lines: Any, format: str, said: bool | None) -> None:
    options = {"progressive": True} if format == "progressive" else {}
    (line,) = lines(encoded(asymmetric(), "PNG" if format == "PNG" else "JPEG", **options))
    assert line.get("progressive") is said
    assert line["error"] is None


def test_stage_durations_add_up_to_no_more_than_the_whole(lines: Any, photo: bytes) -> None:
    (line,) = lines(photo)
    parts = [line[name][0] for name in CONVERSION if name.endswith("Duration") and name != "Duration"]
    assert 0 < sum(parts) <= line["Duration"][0] + 0.1  # each is rounded to 0.01 ms
    assert line["CpuTime"][0] > 0


def test_neither_image_nor_exif_nor_query_is_logged(lines: Any, photo: bytes) -> None:
    (line,) = lines(photo, size="33")
    text = json.dumps(line)
    assert "/9j/" not in text  # base64 of a JPEG's first bytes
    assert "size=33" not in text


def test_a_secret_in_a_parameter_that_is_not_ours_is_neither_repeated_nor_logged(
    function: Function, photo: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    query = {"token": "hunter2"}
    answer = function(http_api(body=photo, headers={"content-type": "image/jpeg"}, query=query), Context())
    assert "token: Extra inputs" in answer["body"]
    assert "hunter2" not in answer["body"] + capsys.readouterr().out


def test_busy_time_is_seen_as_cpu_and_waiting_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    log = LogLines(vcpus=1, threads=1)
    stages = Stages(queued=0.5)
    with stages("decode"):
        time.sleep(0.2)
    with stages("encode"):
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
    log.conversion(stages, "cel", "test", 1, None, {})
    line = json.loads(capsys.readouterr().out)
    assert line["QueueDuration"] == [500]
    assert line["DecodeDuration"][0] >= 200
    assert line["stage_cpu"]["decode"] < 0.1
    assert line["stage_cpu"]["encode"] >= 0.19
    assert line["Duration"][0] >= 900


def test_the_init_line_says_how_long_each_part_took(capsys: pytest.CaptureFixture[str]) -> None:
    LogLines(vcpus=1.5, threads=2, namespace="Own").init("cel", 2.5, {"load_ms": 40})
    line = json.loads(capsys.readouterr().out)
    assert assert_embedded_metric_format(line) == {"InitDuration", "MemoryUsed", "MaxMemoryUsed"}
    assert line["InitDuration"] == [2500]
    assert (line["event"], line["threads"], line["vcpus"], line["load_ms"]) == ("init", 2, 1.5, 40)
    assert line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Own"
