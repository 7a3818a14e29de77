"""Dashboard and alarms know the metrics, dimensions and properties that log lines really have."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from handler.metrics import LogLines
from handler.stages import TIMED, Stages
from tests.infra.templates import stack

SEARCHED = re.compile(r"SEARCH\('\{([\w/,]+)\} FunctionName=\"([^\"]+)\" MetricName=\"(\w+)\"', '\w+', 300\)")
QUERIED = re.compile(r"SELECT \w+\((\w+)\) FROM SCHEMA\(\"(\w+)\", ([\w, ]+)\) WHERE FunctionName = '([^']+)'")
FUNCTION = "<AnimeganFunction>"
Line = dict[str, Any]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> list[Line]:
    """One log line of each kind, with everything that it can have."""
    log, stages = LogLines(vcpus=1, threads=1, function_name=FUNCTION), Stages(queued=0.1)
    for name in TIMED:
        with stages(name):
            pass
    log.conversion(stages, "cel", "http-api", 1, "busy", {})
    log.init("cel", 1.0, {})
    log.skipped("sqs", {"reason": "its picture is there"})
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def directive(line: Line) -> dict[str, Any]:
    (found,) = line["_aws"]["CloudWatchMetrics"]
    return dict(found)


def metrics(line: Line) -> set[str]:
    return {metric["Name"] for metric in directive(line)["Metrics"]}


def dashboard() -> dict[str, Any]:
    body: dict[str, Any] = json.loads(stack().nested("Dashboard").resource("Dashboard")["DashboardBody"])
    return body


def graphs() -> list[list[Any]]:
    return [m for w in dashboard()["widgets"] if w["type"] == "metric" for m in w["properties"]["metrics"]]


def searches() -> list[tuple[str, str, str]]:
    """(schema, function, metric) of each search."""
    expressions = [graph[0]["expression"] for graph in graphs() if isinstance(graph[0], dict)]
    found = [SEARCHED.findall(expression) for expression in expressions]
    assert all(found), "an expression without a search that this test can read"
    return [search for of in found for search in of]


def alarms() -> dict[str, dict[str, Any]]:
    template = stack(AlarmEmail="me@example.com").nested("Observability")
    of = [name for name, said in template.body["Resources"].items() if said["Type"] == "AWS::CloudWatch::Alarm"]
    return {name: template.resource(name) for name in of}


def queries() -> list[tuple[str, str, str, str]]:
    """(metric, namespace, dimensions, function) of each Metrics Insights query."""
    said = [m.get("Expression", "") for alarm in alarms().values() for m in alarm.get("Metrics", [])]
    return [query for text in said if text.startswith("SELECT") for query in QUERIED.findall(text)]


def test_the_dashboard_shows_every_metric_that_there_is_and_no_other(lines: list[Line]) -> None:
    shown = {metric for *_, metric in searches()} | {graph[1] for graph in graphs() if graph[0] == "AnimeGAN"}
    assert shown == set.union(*map(metrics, lines))


def test_searches_have_the_namespace_and_the_dimensions_of_the_lines(lines: list[Line]) -> None:
    (schema,) = {(schema, function) for schema, function, _ in searches()}
    for line in lines:
        (dimensions,) = directive(line)["Dimensions"]
        assert schema == (",".join([directive(line)["Namespace"], *sorted(dimensions)]), line["FunctionName"])


def test_queries_of_alarms_have_metrics_and_dimensions_of_conversions(lines: list[Line]) -> None:
    conversion = lines[0]
    (dimensions,) = directive(conversion)["Dimensions"]
    assert {metric for metric, *_ in queries()} == {"ConversionErrors", "MaxMemoryUsed"}
    for metric, *rest in queries():
        assert metric in metrics(conversion)
        assert rest == [directive(conversion)["Namespace"], ", ".join(sorted(dimensions)), FUNCTION]


def test_the_average_of_conversion_errors_is_their_rate(lines: list[Line]) -> None:
    assert lines[0]["ConversionErrors"] == [1]  # a failed one; a good one has 0, see test_metrics
    assert "AVG(ConversionErrors)" in alarms()["ConversionErrorsAlarm"]["Metrics"][0]["Expression"]


def test_alarm_and_dashboard_watch_the_init_line_of_the_default_style(lines: list[Line]) -> None:
    init, alarm = lines[1], alarms()["InitAlarm"]
    assert (alarm["Namespace"], alarm["MetricName"]) == (directive(init)["Namespace"], "InitDuration")
    dimensions = {d["Name"]: d["Value"] for d in alarm["Dimensions"]}
    assert dimensions == {name: init[name] for (of,) in [directive(init)["Dimensions"]] for name in of}
    (graph,) = [graph for graph in graphs() if graph[0] == "AnimeGAN"]
    assert dict(zip(graph[2:-1:2], graph[3:-1:2], strict=True)) == dimensions


def test_the_memory_alarm_is_in_percent_of_the_functions_memory() -> None:
    memory = stack().resource("AnimeganFunction")["MemorySize"]
    used, percent = alarms()["MemoryAlarm"]["Metrics"]
    assert percent["Expression"] == f"100 * {used['Id']} / {memory}"


def test_the_table_of_failures_reads_properties_of_the_line(lines: list[Line]) -> None:
    (table,) = [w["properties"]["query"] for w in dashboard()["widgets"] if w["type"] == "log"]
    assert "SOURCE '<LogGroup>' | filter ispresent(error) | stats count(*) as n by error, Source" in table
    assert (lines[0]["error"], lines[0]["Source"]) == ("busy", "http-api")


def test_widgets_do_not_overlap() -> None:
    cells = [
        (x, y)
        for w in dashboard()["widgets"]
        for x in range(w["x"], w["x"] + w["width"])
        for y in range(w["y"], w["y"] + w["height"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_every_alarm_tells_somebody_but_the_one_for_deployments() -> None:
    silent = {name for name, alarm in alarms().items() if not alarm.get("AlarmActions")}
    assert silent == {"RollbackAlarm"}
    quiet = stack().nested("Observability")
    assert all("AlarmActions" not in quiet.resource(name) for name in alarms())


def test_deployments_watch_alarms_that_there_are() -> None:
    watched = stack().resource("AnimeganFunction")["DeploymentPreference"]["Alarms"]
    assert {alarm.strip("<>").rpartition(".")[2] for alarm in watched} <= alarms().keys()
