"""Saved queries ask for fields that lines have; the daily report asks about yesterday and tells what it hears."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from handler.function import Function
from handler.metrics import DURATIONS, LogLines
from handler.settings import Settings
from handler.stages import TIMED, Stages
from tests import s3_events as events
from tests.events import Context, http_api
from tests.handler.s3_fakes import Bucket, answer, photo
from tests.infra.states import Failed, Machine
from tests.infra.templates import Template, stack
from tests.s3_server import ENVIRONMENT, s3_server

QUERIES = Path(__file__).parents[2] / "infra/queries"
MOST_FIELDS = 200  # that Logs Insights takes out of a line of JSON
WORDS = {
    *(
        "filter",
        "stats",
        "sort",
        "limit",
        "fields",
        "display",
        "by",
        "as",
        "desc",
        "asc",
        "and",
        "or",
        "not",
        "in",
    ),
    *(
        "count",
        "sum",
        "avg",
        "max",
        "min",
        "pct",
        "earliest",
        "latest",
        "bin",
        "ispresent",
        "strcontains",
        "coalesce",
    ),
}
TIME = "2026-11-30T06:00:00Z"
YESTERDAY = {"startTime": 1795910400, "endTime": 1795996799}  # 2026-11-29 in UTC, both seconds included
TOPIC = "arn:aws:sns:eu-central-1:123456789012:report"
Asked = list[dict[str, Any]]


@pytest.fixture(scope="module")
def aws() -> Iterator[str]:
    with s3_server() as url, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            **ENVIRONMENT,
            "AWS_ENDPOINT_URL": url,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "3008",
        }.items():
            patch.setenv(name, value)
        yield url


@pytest.fixture
def lines(aws: str, frozen_styles: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Real ones: of init, of conversions over HTTP and from S3, of one that fails; and one with every stage."""
    settings = Settings(styles_dir=frozen_styles, precision="float32", cache_bytes=1 << 20)
    function = Function(settings, begun=time.perf_counter())
    function(http_api(body=photo(), headers={"content-type": "image/jpeg"}), Context())
    bucket = Bucket(aws)
    bucket.put("a.jpg", photo())
    bucket.put("b.jpg", b"no photo")
    answer(bucket.events(), events.notification("a.jpg", "b.jpg", bucket=bucket.name))
    stages = Stages(queued=0.1)
    for name in TIMED:
        with stages(name):
            pass
    LogLines(vcpus=1, threads=1).conversion(stages, "cel", "s3", 1, "busy", {})
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def flattened(value: Any, name: str = "") -> set[str]:
    """Names as Logs Insights has them: those of objects, and places in arrays, with dots between."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if entries is None:
        return {name} if value is not None else set()
    return {one for key, inside in entries for one in flattened(inside, f"{name}.{key}".strip("."))}


def asked(query: str) -> set[str]:
    """The fields of a query: names that are neither words of the language nor given in it by `as`."""
    bare = re.sub(r'"[^"]*"', "", query)
    names = set(re.findall(r"(?<![\w.@])@?[A-Za-z_][\w.]*", bare))
    return {name for name in names if not name.startswith("@")} - WORDS - set(re.findall(r"\bas (\w+)", bare))


def texts() -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted(QUERIES.glob("*.txt"))}


def saved() -> dict[str, dict[str, Any]]:
    template = stack().nested("Queries")
    of = {name: said["Type"] for name, said in template.body["Resources"].items()}
    return {name: template.resource(name) for name, kind in of.items() if kind == "AWS::Logs::QueryDefinition"}


def test_every_query_is_saved_with_the_text_of_its_file_for_the_function_s_log_group() -> None:
    assert sorted(query["QueryString"] for query in saved().values()) == sorted(texts().values())
    assert len({query["Name"] for query in saved().values()}) == len(texts()) >= 10
    assert all(query["LogGroupNames"] == ["<LogGroup>"] for query in saved().values())
    assert all(query["Name"].startswith("<AnimeganFunction>/") for query in saved().values())


def test_queries_ask_only_for_fields_that_lines_have(lines: list[dict[str, Any]]) -> None:
    known = set.union(*map(flattened, lines))
    assert {"Duration.0", "stage_cpu.inference", "S3PutDuration.0", "import_ms", "error_message"} <= known
    for name, query in texts().items():
        assert asked(query), name
        assert not asked(query) - known, name


def test_a_field_that_no_line_has_would_be_noticed() -> None:
    query = 'filter event = "x" | stats avg(Durations.0) as ms, sum(strcontains(cache, "hit")) by bin(1h) as hour'
    assert asked(query) == {"event", "Durations.0", "cache"}


def test_no_line_has_more_fields_than_logs_insights_finds(lines: list[dict[str, Any]]) -> None:
    assert max(len(flattened(line)) for line in lines) < MOST_FIELDS


def test_every_stage_is_among_the_stages_and_in_the_list_of_the_slowest() -> None:
    durations = {f"{name}.0" for name in [*DURATIONS.values(), "Duration"]}
    assert durations <= asked(texts()["stages"])
    assert durations - asked(texts()["slowest"]) <= {"PreprocessDuration.0", "PostprocessDuration.0"}


# The daily report


def template(report: str = "topic") -> Template:
    return stack(DailyReport=report).nested("Queries")


def definition() -> dict[str, Any]:
    """With its substitutions made, as Step Functions gets it."""
    resource = template().resource("Report")
    text = json.dumps(resource["Definition"])
    for name, value in {**resource["DefinitionSubstitutions"], "Topic": TOPIC}.items():
        text = text.replace(f"${{{name}}}", str(value))
    assert "${" not in text
    made: dict[str, Any] = json.loads(text)
    return made


def pascal(answered: dict[str, Any]) -> dict[str, Any]:
    """As Step Functions names what an SDK gives."""

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key[0].upper() + key[1:]: renamed(inside) for key, inside in value.items()}
        return [renamed(one) for one in value] if isinstance(value, list) else value

    return {key: inside for key, inside in renamed(answered).items() if key != "ResponseMetadata"}


def sdk(call: Callable[..., dict[str, Any]], told: Asked) -> Callable[..., dict[str, Any]]:
    """An integration's arguments are the API's, each with a capital; boto3 checks names and types."""

    def task(**arguments: Any) -> dict[str, Any]:
        given = {name[0].lower() + name[1:]: value for name, value in arguments.items()}
        told.append(given)
        return pascal(call(**given))

    return task


class Cloud:
    """Logs Insights that has to be asked twice, and a topic."""

    def __init__(self, rows: list[dict[str, str]], statuses: tuple[str, ...] = ("Running", "Complete")) -> None:
        self.rows, self.statuses = rows, statuses
        self.asked: Asked = []
        self.published: Asked = []
        self.looked = 0

    def start(self, **arguments: Any) -> dict[str, Any]:
        self.asked.append(arguments)
        return {"QueryId": f"query-{len(self.asked)}"}

    def look(self, QueryId: str) -> dict[str, Any]:  # noqa: N803
        status = self.statuses[min(self.looked % len(self.statuses), len(self.statuses) - 1)]
        self.looked += 1
        cells = [[{"Field": name, "Value": value} for name, value in row.items()] for row in self.rows]
        return {"Status": status, "Results": cells if status == "Complete" else []}

    def publish(self, **arguments: Any) -> dict[str, Any]:
        self.published.append(arguments)
        return {"MessageId": "1"}

    def machine(self) -> Machine:
        logs = "aws-sdk:cloudwatchlogs"
        return Machine(
            {f"{logs}:startQuery": self.start, f"{logs}:getQueryResults": self.look, "sns:publish": self.publish}
        )


def test_the_report_asks_about_the_day_before_in_calls_that_aws_knows(aws: str) -> None:
    logs, sns, told = boto3.client("logs"), boto3.client("sns"), Asked()
    logs.create_log_group(logGroupName="<LogGroup>".strip("<>"))
    topic = sns.create_topic(Name="report")["TopicArn"]
    assert topic.rpartition(":")[2] == TOPIC.rpartition(":")[2]
    published: Asked = []

    def publish(**arguments: Any) -> dict[str, Any]:
        published.append(arguments)
        return dict(sns.publish(**{**arguments, "TopicArn": topic}))

    def start(**given: Any) -> dict[str, Any]:
        return dict(logs.start_query(**{**given, "logGroupName": "LogGroup"}))

    service = "aws-sdk:cloudwatchlogs"
    called: dict[str, Any] = {f"{service}:startQuery": sdk(start, told), "sns:publish": publish}
    called[f"{service}:getQueryResults"] = sdk(logs.get_query_results, [])
    Machine(called).run(definition(), {"time": TIME})
    assert [{name: query[name] for name in YESTERDAY} for query in told] == [YESTERDAY] * 5
    assert {query["queryString"] for query in told} <= set(texts().values())
    (mail,) = published
    assert mail["Subject"] == "<AnimeganFunction>: 2026-11-29"
    assert mail["Message"].startswith("Conversions\n  nothing\n\nErrors\n  nothing\n\n")


@pytest.mark.parametrize("count", [1, 2])
def test_the_report_has_a_line_for_each_row_of_each_answer(count: int) -> None:
    cloud = Cloud([{"Source": "sqs", "conversions": str(n)} for n in range(count)])
    cloud.machine().run(definition(), {"time": TIME})
    (mail,) = cloud.published
    rows = "\n".join(f"  Source sqs  conversions {n}" for n in range(count))
    assert mail["Message"].split("\n\n")[0] == f"Conversions\n{rows}"
    assert len(mail["Message"].split("\n\n")) == len(cloud.asked) == 5
    assert mail["TopicArn"] == TOPIC
    assert cloud.looked == 2 * 5  # each was still running at first


def test_without_a_time_it_is_about_the_day_before_now() -> None:
    cloud = Cloud([])
    before = time.time() // 86400 * 86400
    cloud.machine().run(definition(), {})
    assert cloud.asked[0]["EndTime"] + 1 in (before, before + 86400)  # midnight may have passed meanwhile
    assert cloud.asked[0]["EndTime"] - cloud.asked[0]["StartTime"] == 86399


@pytest.mark.parametrize(("statuses", "said"), [(("Failed",), "says Failed"), (("Running",), "says Running")])
def test_a_query_that_fails_or_never_ends_is_told_and_fails_the_report(
    statuses: tuple[str, ...], said: str
) -> None:
    cloud = Cloud([], statuses)
    machine = cloud.machine()
    with pytest.raises(Failed, match="NoReport"):
        machine.run(definition(), {"time": TIME})
    (mail,) = cloud.published
    assert mail["Subject"] == "<AnimeganFunction>: no report"
    assert said in mail["Message"]
    assert machine.passed.count("Wait") <= 120


def test_a_call_that_aws_refuses_for_now_is_tried_again() -> None:
    cloud, refused = Cloud([]), iter([True, True, False, *[False] * 9])
    machine = cloud.machine()

    def start(**arguments: Any) -> dict[str, Any]:
        if next(refused):
            raise Failed("CloudWatchLogs.LimitExceededException", "10 queries are running")
        return cloud.start(**arguments)

    machine.services = {**machine.services, "aws-sdk:cloudwatchlogs:startQuery": start}
    machine.run(definition(), {"time": TIME})
    assert len(cloud.published) == 1
    assert "Sorry" not in machine.passed


def test_there_is_no_report_unless_it_is_asked_for() -> None:
    quiet = stack().nested("Queries")
    assert not quiet.condition("Reports")
    made = {name for name, said in quiet.body["Resources"].items() if said.get("Condition") != "Reports"}
    assert made == saved().keys()
    assert not {name for name, said in quiet.body["Outputs"].items() if said["Condition"] != "Reports"}


@pytest.mark.parametrize(
    ("report", "subscription"),
    [("topic", None), ("me@example.com", [{"Protocol": "email", "Endpoint": "me@example.com"}])],
)
def test_the_report_goes_to_an_address_or_to_whoever_subscribes(report: str, subscription: Any) -> None:
    assert template(report).condition("Reports")
    assert template(report).resource("ReportTopic").get("Subscription") == subscription


@pytest.mark.parametrize(
    ("report", "allowed"), [("off", True), ("topic", True), ("a@b.c", True), ("on", False), ("", False)]
)
def test_the_parameter_is_off_topic_or_an_address(report: str, allowed: bool) -> None:
    said = stack().parameters["DailyReport"]
    assert bool(re.fullmatch(said["AllowedPattern"], report)) is allowed
    assert said["Default"] == "off"


def statements(role: str) -> dict[str, dict[str, Any]]:
    policies = template().resource(role)["Policies"]
    return {said["Sid"]: said for policy in policies for said in policy["PolicyDocument"]["Statement"]}


def test_the_report_may_do_what_it_does_and_nothing_more() -> None:
    may = statements("ReportRole")
    assert {sid for sid, said in may.items() if said["Resource"] == "*"} == {"Look", "Trace", "DeliverLogs"}
    assert may.keys() == {"Ask", "Look", "Tell", "Trace", "DeliverLogs"}
    assert (may["Ask"]["Action"], may["Look"]["Action"]) == ("logs:StartQuery", "logs:GetQueryResults")
    group = "arn:aws:logs:eu-central-1:111122223333:log-group:<LogGroup>"
    assert may["Ask"]["Resource"] == [group, f"{group}:*"]
    assert (may["Tell"]["Action"], may["Tell"]["Resource"]) == ("sns:Publish", "<ReportTopic>")
    assert statements("ScheduleRole")["Start"]["Resource"] == "<Report>"
    trusted = template().resource("ScheduleRole")["AssumeRolePolicyDocument"]["Statement"][0]
    assert trusted["Condition"] == {"StringEquals": {"aws:SourceAccount": "111122223333"}}


def test_the_schedule_names_the_time_that_was_meant() -> None:
    schedule = template().resource("Schedule")
    assert json.loads(schedule["Target"]["Input"]) == {"time": "<aws.scheduler.scheduled-time>"}
    assert (schedule["Target"]["Arn"], schedule["Target"]["RoleArn"]) == ("<Report>", "<ScheduleRole.Arn>")
    assert schedule["ScheduleExpression"] == "cron(0 6 * * ? *)"
