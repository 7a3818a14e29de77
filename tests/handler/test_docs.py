"""GET /docs: all that the OpenAPI document has, and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from html import unescape
from typing import Any

import pytest

from handler import docs
from handler.function import Function
from tests.handler.test_uploads import Http


@pytest.fixture
def http(function: Function) -> Http:
    return Http(function.app)


@pytest.fixture
def document(http: Http) -> dict[str, Any]:
    said: dict[str, Any] = http.get("/openapi.json").json()
    return said


def described(**route: Any) -> dict[str, Any]:
    return {"info": {"title": "t"}, "paths": {"/x": {"get": {"responses": {}, **route}}}}


def test_every_route_parameter_and_code_is_on_the_page(http: Http, document: dict[str, Any]) -> None:
    html = unescape(http.get("/docs").text)
    routes = [(path, method, said) for path, all in document["paths"].items() for method, said in all.items()]
    assert len(routes) >= 5
    for path, method, said in routes:
        assert f"{method.upper()} {path}" in html
        assert all(f"<code>{one['name']}</code>" in html for one in said.get("parameters", []))
        for status, answer in said["responses"].items():
            codes = [line.partition(":")[0] for line in answer["description"].split("; ")]
            assert not status.startswith(("4", "5")) or all(f"<code>{code}</code>" in html for code in codes)


def test_what_has_to_be_sent_is_marked_and_what_is_answered_is_not(http: Http) -> None:
    html = http.get("/docs").text
    rows = [row for row in html.split("<tr>") if "<b>required</b>" in row]
    names = [re.findall(r"<code>(.*?)</code>", row)[0] for row in rows]
    assert names == ["image", "file", "content_type", "id"]  # of /convert twice, of /uploads, of its status


def test_the_codes_are_those_that_the_function_answers_with(document: dict[str, Any]) -> None:
    said = document["paths"]["/convert"]["post"]["responses"]
    # docs of the design: 413 payload_too_large and too_many_pixels, 503 busy, 504 out_of_time.
    assert {"payload_too_large", "too_many_pixels"} <= set(re.findall(r"\w+(?=:)", said["413"]["description"]))
    assert "busy" in said["503"]["description"]
    assert "out_of_time" in said["504"]["description"]


def test_nothing_comes_from_elsewhere_and_there_is_no_script(http: Http) -> None:
    html = http.get("/docs").text
    assert not re.search(r"<script|\son\w+=|\sstyle=|@import", html)
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", html)


def test_the_policy_names_the_styles_that_are_in_the_page(http: Http) -> None:
    answer = http.get("/docs")
    style = re.search(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert f"style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_names_from_the_document_are_escaped() -> None:
    parameter = {"name": "<b>", "in": "query", "schema": {"type": "string", "description": "<script>1</script>"}}
    html = docs.page(described(parameters=[parameter]), "http://a/<i>").decode()
    assert "<script>" not in html
    assert "<b>" not in re.sub(r"<b>required</b>", "", html)
    assert "<i>" not in html


def test_the_curl_line_of_a_conversion_is_one_that_works(http: Http, document: dict[str, Any]) -> None:
    said = document["paths"]["/convert"]["post"]
    words = shlex.split(docs.curl("/convert", "post", said, "http://localhost:8000"))
    assert words[0] == "curl"
    assert words[-1] == "http://localhost:8000/convert"
    assert words[words.index("--data-binary") + 1] == "@photo.jpg"
    assert words[words.index("-o") + 1] == "anime.jpg"


def test_a_browser_that_has_the_page_is_told_so(http: Http) -> None:
    tag = http.get("/docs").headers["etag"]
    assert http.request("GET", "/docs", headers={"If-None-Match": tag}).status_code == 304
