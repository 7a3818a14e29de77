"""Events through the dispatch, as Lambda would send them; the two log lines; what the entry module imports."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from handler import cpu
from handler.errors import StyleError, UnknownEvent
from handler.function import Function
from handler.settings import Settings
from tests.events import Context, alb, function_url, http_api, rest_api

Event = dict[str, Any]
ROOT = Path(__file__).parents[2]
SHAPES = [http_api, function_url, rest_api, alb]
SOURCES = ["http-api", "function-url", "rest-api", "alb"]
JPEG = {"content-type": "image/jpeg"}


def picture(answer: Event) -> Any:
    assert answer["isBase64Encoded"] is True
    return cv2.imdecode(np.frombuffer(base64.b64decode(answer["body"]), np.uint8), cv2.IMREAD_UNCHANGED)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_photo_posted_as_base64_comes_back_as_a_base64_picture(
    function: Function, photo: bytes, shape: Callable[..., Event]
) -> None:
    event = shape(body=photo, headers={**JPEG, "accept": "image/png"}, query={"size": "48", "format": "png"})
    answer = function(event, Context())
    assert answer["statusCode"] == 200
    assert picture(answer).shape == (32, 48, 3)


@pytest.mark.parametrize("shape", SHAPES)
def test_json_leaves_as_text_with_lambdas_request_id(
    function: Function, photo: bytes, shape: Callable[..., Event]
) -> None:
    answer = function(shape(body=photo, headers=JPEG), Context(aws_request_id="8f507cfc"))
    assert answer["isBase64Encoded"] is False
    assert json.loads(answer["body"])["width"] == 96
    assert answer["headers"]["x-request-id"] == "8f507cfc"


def test_errors_leave_as_text_too(function: Function) -> None:
    answer = function(http_api(body=b"{}", headers={"content-type": "application/json"}), Context())
    assert (answer["statusCode"], answer["isBase64Encoded"]) == (400, False)
    assert json.loads(answer["body"])["code"] == "empty_image"


def test_an_alb_with_multi_value_headers_is_answered_in_kind(function: Function, photo: bytes) -> None:
    answer = function(alb(body=photo, headers=JPEG, query={"size": "48"}, multi_value=True), Context())
    assert json.loads(answer["body"])["width"] == 48
    assert answer["multiValueHeaders"]["content-type"] == ["application/json"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_body_that_only_claims_to_be_base64_is_a_400(function: Function, shape: Callable[..., Event]) -> None:
    event = {**shape(), "body": "not base64!", "isBase64Encoded": True}
    answer = function(event, Context())
    assert answer["statusCode"] == 400
    assert json.loads(answer["body"])["code"] == "invalid_base64"
    assert answer["headers"]["x-request-id"] == Context().aws_request_id


STAGED = [
    http_api("GET", "/prod/health", stage="prod"),
    http_api("GET", "/anime/health", route="GET /health"),
    http_api("GET", "/anime/health", route="ANY /{proxy+}") | {"pathParameters": {"proxy": "health"}},
    rest_api("GET", "/health", stage="prod"),
    rest_api("GET", "/health", resource="/health"),
    rest_api("GET", "/anime/health", resource="/health"),
    rest_api("GET", "/anime/health") | {"pathParameters": {"proxy": "health"}},
]


@pytest.mark.parametrize("event", STAGED, ids=[f"{e.get('version', '1.0')}-{i}" for i, e in enumerate(STAGED)])
def test_stages_and_custom_domain_mappings_are_no_part_of_the_route(function: Function, event: Event) -> None:
    assert function(event, Context())["statusCode"] == 200


@pytest.mark.parametrize(
    "event", [http_api("GET", "/prod/docs", stage="prod"), rest_api("GET", "/docs", stage="prod")]
)
def test_the_documentation_below_a_stage_finds_its_document_below_the_stage(
    function: Function, event: Event
) -> None:
    page = function(event, Context())["body"]
    assert 'href="openapi.json"' in page  # beside /prod/docs
    assert "/prod/convert" in page


@pytest.mark.parametrize(
    "event",
    [
        {"warmup": True},
        {"source": "serverless-plugin-warmup"},
        {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}},
    ],
)
def test_a_warm_up_is_answered_at_once_without_a_conversion(
    function: Function, event: Event, capsys: pytest.CaptureFixture[str]
) -> None:
    assert function(event, Context())["warm"] is True
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "event",
    [{}, {"hello": "world"}, {"requestContext": None}, {"Records": []}, [], "text", None, {"source": "aws.ec2"}],
)
def test_an_unknown_event_is_a_clear_error(function: Function, event: Any) -> None:
    with pytest.raises(UnknownEvent, match=r"event"):
        function(event, Context())


@pytest.mark.parametrize(
    "event",
    [
        {"version": "2.0", "requestContext": {"http": {}}},
        {"version": "2.0", "requestContext": {"http": {}}, "headers": None, "body": None, "cookies": None},
        {"httpMethod": "GET", "requestContext": {}, "path": None, "headers": None, "multiValueHeaders": None},
        {"httpMethod": "GET", "requestContext": {"elb": {}}, "path": None, "headers": None},
    ],
)
def test_http_events_with_holes_in_them_are_still_answered(function: Function, event: Event) -> None:
    assert function(event, Context())["statusCode"] == 200  # no path is the page's


def test_an_http_event_that_cannot_be_read_is_named(function: Function) -> None:
    with pytest.raises(UnknownEvent, match="http-api event is malformed"):
        function(http_api() | {"headers": "none"}, Context())


FIXTURES = [
    "powertools/apiGatewayProxyV2Event.json",
    "powertools/apiGatewayProxyV2IamEvent.json",
    "powertools/apiGatewayProxyV2LambdaAuthorizerEvent.json",
    "powertools/apiGatewayProxyV2OtherGetEvent.json",
    "powertools/apiGatewayProxyEvent.json",
    "powertools/apiGatewayProxyEventNoOrigin.json",
    "powertools/apiGatewayProxyEvent_noVersionAuth.json",
    "powertools/albEvent.json",
    "powertools/albMultiValueQueryStringEvent.json",
    "powertools/lambdaFunctionUrlEventPathTrailingSlash.json",
    "powertools/lambdaFunctionUrlEventWithHeaders.json",
    "powertools/lambdaFunctionUrlIAMEvent.json",
    "lambda-go/alb-lambda-target-request-multivalue-headers.json",
    "lambda-go/apigw-v2-request-iam.json",
    "lambda-go/apigw-v2-request-lambda-authorizer.json",
    "lambda-go/lambda-urls-request.json",
    "lambda-rust/example-apigw-console-test-request.json",
    "lambda-rust/example-apigw-sam-rest-request.json",
    "lambda-rust/example-apigw-v2-request-multi-value-parameters.json",
]


@pytest.mark.parametrize("name", FIXTURES)
def test_recorded_events_with_a_photo_put_in_are_converted(
    function: Function, photo: bytes, shared: Callable[[str], Path], name: str
) -> None:
    event = _with_photo(json.loads(shared(f"data/events/{name}").read_text()), photo)
    answer = function(event, Context())
    assert answer["statusCode"] == 200, answer
    assert json.loads(answer["body"])["width"] == 96


def _with_photo(event: Event, photo: bytes) -> Event:
    """The event as recorded, but for method, path, content type, query and body."""
    event |= {"body": base64.b64encode(photo).decode(), "isBase64Encoded": True}
    wanted = {"content-type": "image/jpeg", "accept": "*/*"}
    if "headers" in event:
        event["headers"] = _lower(event["headers"]) | wanted
    if "multiValueHeaders" in event:
        event["multiValueHeaders"] = _lower(event["multiValueHeaders"]) | {k: [v] for k, v in wanted.items()}
    for query in ("queryStringParameters", "multiValueQueryStringParameters", "rawQueryString"):
        if query in event:
            event[query] = "" if query == "rawQueryString" else None
    context = event["requestContext"]
    if "http" in context:
        context["http"] |= {"method": "POST", "path": "/convert"}
        context["stage"] = "$default"
        event |= {"rawPath": "/convert", "routeKey": "$default"}
    else:
        event |= {"httpMethod": "POST", "path": "/convert"}
        if "resource" in event:
            event["resource"] = "/convert"
    return event


def _lower(headers: Event | None) -> Event:
    return {name.lower(): value for name, value in (headers or {}).items()}


def test_a_conversion_that_cannot_end_in_time_is_not_begun(
    function: Function, photo: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = function(http_api(body=photo, headers=JPEG), Context(remaining_ms=1))
    assert answer["statusCode"] == 504
    assert json.loads(answer["body"])["code"] == "out_of_time"
    assert "InferenceDuration" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("event", "status"), [(http_api, 504), (rest_api, 504), (function_url, 200)])
def test_a_conversion_longer_than_api_gateway_waits_is_not_begun_behind_it(
    frozen_styles: Path, photo: bytes, event: Callable[..., Event], status: int
) -> None:
    function = Function(Settings(styles_dir=frozen_styles, precision="float32"), begun=0.0)
    # 96 by 64 pixels at 5 ms each: 30.7 s, over API Gateway's 29 and under the function's own 120
    function.styles["cel"].seconds_per_pixel = 5e-3
    assert function(event(body=photo, headers=JPEG), Context(remaining_ms=120_000))["statusCode"] == status


def test_an_answer_over_the_limit_is_sent_smaller_with_a_warning(frozen_styles: Path, photo: bytes) -> None:
    tight = Function(Settings(styles_dir=frozen_styles, max_output_bytes=1500, precision="float32"), begun=0.0)
    noisy = np.random.default_rng(0).integers(0, 256, (64, 96, 3), np.uint8)
    data = cv2.imencode(".png", noisy)[1].tobytes()
    answer = tight(http_api(body=data, headers={"content-type": "image/png"}), Context())
    said = json.loads(answer["body"])
    if answer["statusCode"] == 200:
        assert said["format"] in ("webp", "jpeg")
        assert len(base64.b64decode(said["image"])) <= 1500
        assert "over the limit" in said["warnings"][0]
    else:
        assert said["code"] == "payload_too_large"


def test_a_style_that_is_not_there_stops_init_with_its_name(frozen_styles: Path, tmp_path: Path) -> None:
    told = r"STYLE=oil: there is no such style in .*\(STYLES_DIR\); freeze it there\. Or set STYLE to cel\."
    with pytest.raises(StyleError, match=told):
        Function(Settings(styles_dir=frozen_styles, style="oil"), begun=0.0)
    with pytest.raises(StyleError, match="no frozen style"):
        Function(Settings(styles_dir=tmp_path), begun=0.0)


# In a fresh process, since other tests import what the function must not.
LIGHT = """
import sys
from handler.main import lambda_handler
heavy = {"boto3", "botocore.client", "PIL", "pandas", "matplotlib", "torchvision", "uvicorn", "httpx", "pytest",
         "layers", "infra", "pillow_heif", "skimage", "scipy", "rich", "moto",
         "handler.openapi", "handler.s3", "handler.storage"}
print(*sorted(heavy & set(sys.modules)), file=sys.stderr)
import gc
assert gc.isenabled(), "garbage is not collected"
print(lambda_handler({"warmup": True}, None), file=sys.stderr)
"""


def test_the_entry_module_imports_nothing_that_an_invocation_does_not_need(frozen_styles: Path) -> None:
    environment = {**os.environ, "STYLES_DIR": str(frozen_styles), "STYLE": "cel"}
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    heavy, answer = done.stderr.splitlines()[-2:]
    assert heavy == ""
    assert "'warm': True" in answer
    init = json.loads(done.stdout)
    assert init["InitDuration"][0] >= init["import_ms"] > 0
    assert init["processor"] == cpu.processor()


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"MAX_SIDE": "big", "PRECISION": "int8"}, ["MAX_SIDE='big'", "PRECISION='int8'"]),
        (
            {"POWERTOOLS_METRICS_NAMESPACE": "AWS/Bad"},
            ["POWERTOOLS_METRICS_NAMESPACE='AWS/Bad'", "CloudWatch's own"],
        ),
        ({"POWERTOOLS_METRICS_NAMESPACE": ":"}, ["POWERTOOLS_METRICS_NAMESPACE=':'"]),
        ({"STYLES_DIR": "/nowhere/at/all"}, ["no frozen style in /nowhere/at/all"]),
    ],
)
def test_a_wrong_environment_stops_init_with_a_clear_error(variables: dict[str, str], named: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import handler.main"],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    for name in named:
        assert name in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("http", [None, [], "GET", 5])
def test_an_http_context_of_the_wrong_type_is_an_unknown_event(function: Function, http: Any) -> None:
    with pytest.raises(UnknownEvent, match="malformed"):
        function({"version": "2.0", "requestContext": {"http": http}}, Context())


def test_a_null_request_context_is_an_unknown_event(function: Function) -> None:
    with pytest.raises(UnknownEvent):
        function({"httpMethod": "GET", "path": "/health", "requestContext": None}, Context())


def test_a_refused_body_leaves_its_log_line(function: Function, capsys: pytest.CaptureFixture[str]) -> None:
    function({**http_api(), "body": "%", "isBase64Encoded": True}, Context("req-9"))
    line = json.loads(capsys.readouterr().out)
    assert (line["error"], line["request_id"]) == ("invalid_base64", "req-9")
