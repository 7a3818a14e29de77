"""GET / and the files of the page, as HTTP has them; tests/page opens it in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from handler.api import create_app
from handler.converter import Converter
from handler.function import Function
from handler.limits import largest_picture, limits
from handler.metrics import LogLines
from handler.page import FOLDER, Page
from handler.settings import Settings
from handler.slots import Slots
from handler.storage import storage
from tests import events
from tests.handler.s3_fakes import Bucket, Negatives
from tests.handler.test_uploads import Http
from tests.s3_server import ENVIRONMENT

FILES = sorted(path.name for path in FOLDER.iterdir())


def client(**settings: Any) -> Http:
    converter = Converter(Settings(**settings), Negatives(), LogLines(vcpus=1, threads=1))  # type: ignore[arg-type]
    return Http(create_app(converter, Slots(1, 1)))


@pytest.fixture
def http(function: Function) -> Http:
    return Http(function.app)


def linked(html: str) -> list[str]:
    return re.findall(r'(?:href|src)="(static/[^"]+)"', html)


def policy(answer: httpx.Response) -> dict[str, list[str]]:
    parts = (part.split() for part in answer.headers["content-security-policy"].split(";"))
    return {name: values for name, *values in parts}


def test_the_page_is_html_whose_files_are_there_with_their_types(http: Http) -> None:
    page = http.get("/")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    types = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
    files = set(linked(page.text))
    assert {file.rpartition("/")[2] for file in files} == {*FILES} - {"index.html"}
    for file in files:
        answer = http.get(f"/{file}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, types[file.rpartition(".")[2]])
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.content == (FOLDER / file.rpartition("/")[2]).read_bytes()


def test_nothing_in_the_page_comes_from_elsewhere_or_is_inline(http: Http) -> None:
    html = http.get("/").text
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)
    for name in FILES:
        text = (FOLDER / name).read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//\w+\.\w|innerHTML|@import", text), name


def test_the_policy_allows_the_pages_own_files_and_nothing_else(http: Http) -> None:
    allowed = policy(http.get("/"))
    assert allowed["default-src"] == allowed["base-uri"] == allowed["frame-ancestors"] == ["'none'"]
    assert allowed["script-src"] == allowed["style-src"] == allowed["connect-src"] == ["'self'"]
    assert allowed["img-src"] == ["'self'", "blob:"]
    assert "unsafe" not in str(allowed)
    assert http.get("/").headers["referrer-policy"] == "no-referrer"


def test_files_are_kept_for_ever_and_the_page_is_asked_for_each_time(http: Http) -> None:
    page = http.get("/")
    assert page.headers["cache-control"] == "no-cache"
    for file in linked(page.text):
        assert http.get(f"/{file}").headers["cache-control"] == "public, max-age=31536000, immutable"


def test_a_file_of_another_version_is_given_but_not_kept(http: Http) -> None:
    answer = http.get("/static/0123456789abcdef/page.js")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")


@pytest.mark.parametrize("said", ["{tag}", 'W/{tag}, "other"', '"other", {tag}', "*"])
def test_what_the_client_has_is_not_sent_again(http: Http, said: str) -> None:
    for path in ("/", "/" + linked(http.get("/").text)[0]):
        tag = http.get(path).headers["etag"]
        answer = http.request("GET", path, headers={"If-None-Match": said.format(tag=tag)})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    assert http.request("GET", "/", headers={"If-None-Match": '"other"'}).status_code == 200


def test_head_answers_as_get_without_the_body(http: Http) -> None:
    for path in ("/", "/" + linked(http.get("/").text)[0]):
        got, head = http.get(path), http.request("HEAD", path)
        assert (head.status_code, head.content) == (200, b"")
        for name in ("content-length", "content-type", "etag", "cache-control"):
            assert head.headers[name] == got.headers[name]


@pytest.mark.parametrize(
    "path",
    [
        "/static/x/nothing.js",
        "/static/x/page.py",
        "/static/x/..%2fsettings.py",
        "/static/x/%2e%2e/%2e%2e/settings.py",
        "/static/../settings.py",
        "/static/..%5c..%5csettings.py",
        "/static/x//etc/passwd",
        "/static/page.js",
        "/static/x/page.js%00",
        "/index.html",
    ],
)
def test_what_is_no_file_of_the_page_is_not_found(http: Http, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert answer.headers["content-type"] == "application/problem+json"


def test_other_methods_are_told_so(http: Http) -> None:
    answer = http.post("/")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def test_the_page_is_no_part_of_the_apis_document(http: Http) -> None:
    assert {"/convert", "/styles"} <= http.get("/openapi.json").json()["paths"].keys()
    assert not {"/", "/static/{version}/{name}"} & http.get("/openapi.json").json()["paths"].keys()


# In Lambda


def kinds() -> dict[str, Callable[[str], dict[str, Any]]]:
    return {
        "http-api": lambda path: events.http_api("GET", path),
        "stage": lambda path: events.http_api("GET", f"/Prod{path}", stage="Prod"),
        "function-url": lambda path: events.function_url("GET", path),
        "rest-api": lambda path: events.rest_api("GET", path),
        "alb": lambda path: events.alb("GET", path),
    }


@pytest.mark.parametrize("kind", kinds())
def test_every_file_leaves_as_text_so_that_no_gateway_has_to_know_binary_types(
    function: Function, kind: str
) -> None:
    page = function(kinds()[kind]("/"), events.Context())
    assert page["statusCode"] == 200
    for file in linked(page["body"]):
        answer = function(kinds()[kind](f"/{file}"), events.Context())
        assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, False)
        assert answer["body"] == (FOLDER / file.rpartition("/")[2]).read_text()


def test_below_a_stage_the_page_without_its_slash_leads_to_the_one_with_it(function: Function) -> None:
    answer = function(events.http_api("GET", "/Prod", stage="Prod"), events.Context())
    assert answer["statusCode"] == 307
    assert answer["headers"]["location"].endswith("/Prod/")


def test_nothing_of_the_page_is_read_before_somebody_opens_it(settings: Settings) -> None:
    page = Page(settings)
    assert not vars(page).keys() & {"files", "version", "html"}
    assert page.html
    assert vars(page).keys() >= {"files", "version", "html"}


# Uploads


@pytest.fixture
def bucket(s3_endpoint: str) -> Any:
    storage.cache_clear()
    yield Bucket(s3_endpoint)
    storage.cache_clear()


def test_with_uploads_the_page_may_go_to_where_the_form_and_the_link_lead(bucket: Bucket) -> None:
    http = client(upload_bucket=bucket.name)
    assert policy(http.get("/"))["connect-src"] == ["'self'", bucket.endpoint]


def test_on_aws_that_is_the_host_of_each_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    storage.cache_clear()
    http = client(upload_bucket="my-photos", output_bucket="my-pictures")
    form = http.post("/uploads", json={"content_type": "image/png"}).json()
    allowed = policy(http.get("/"))["connect-src"]
    storage.cache_clear()
    assert allowed[0] == "'self'"
    assert form["url"].rstrip("/") in allowed
    hosts = {host.removeprefix("https://") for host in allowed[1:]}
    assert {host.partition(".")[0] for host in hosts} == {"my-photos", "my-pictures"}


def test_where_boto3_cannot_work_the_page_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "garbage")
    storage.cache_clear()
    answer = client(upload_bucket="my-photos").get("/")
    storage.cache_clear()
    assert (answer.status_code, policy(answer)["connect-src"]) == (200, ["'self'"])


def test_another_policy_is_another_page_since_a_304_renews_none(bucket: Bucket) -> None:
    tag = client().get("/").headers["etag"]
    answer = client(upload_bucket=bucket.name).request("GET", "/", headers={"If-None-Match": tag})
    assert answer.status_code == 200


# Limits


SIX_MB = 6_291_556  # Lambda quotas: invocation payload, synchronous


@pytest.mark.parametrize(
    ("source", "most", "encodings"),
    [("http-api", SIX_MB, 1), ("function-url", SIX_MB, 1), ("rest-api", SIX_MB, 2), ("alb", 1024 * 1024, 1)],
)
def test_the_largest_payload_fits_as_base64_and_is_not_far_below(source: str, most: int, encodings: int) -> None:
    size = limits(source, Settings())["max_payload_bytes"] * (4 / 3) ** encodings
    assert most * 0.93 < size < most - 32 * 1024


def test_styles_tells_the_limits_of_whoever_carries_the_request(http: Http, function: Function) -> None:
    server = http.get("/styles").json()["limits"]
    assert server == {
        "max_side": 1024,
        "max_input_bytes": 20 * 1024 * 1024,
        "max_input_pixels": 50_000_000,
        "max_payload_bytes": 20 * 1024 * 1024,
        "uploads": False,
    }
    body = function(events.alb("GET", "/styles"), events.Context())["body"]
    assert '"max_payload_bytes": 737280' in body
    assert limits("http-api", Settings(max_input_bytes=1000))["max_payload_bytes"] == 1000


def test_the_document_describes_them(http: Http) -> None:
    document = http.get("/openapi.json").json()
    answer = document["paths"]["/styles"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    reference = answer["properties"]["limits"]["$ref"].removeprefix("#/components/schemas/")
    described = document["components"]["schemas"][reference]["properties"]
    assert described.keys() == http.get("/styles").json()["limits"].keys()


def test_a_load_balancer_gets_pictures_that_it_can_carry() -> None:
    assert largest_picture("server", Settings()) is None
    assert largest_picture("http-api", Settings()) == 4_669_515
    assert largest_picture("alb", Settings()) == 737_280
    assert largest_picture("alb", Settings(max_output_bytes=5000)) == 5000
