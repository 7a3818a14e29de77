"""What others wrote, in metadata, events and names, does no harm: no loop, no lost event, no shared picture."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from handler.bodies import validated
from handler.errors import CorruptImage, InvalidParameter, Unfinished
from handler.lines import Caller
from handler.naming import output_key, report_key
from handler.objects import S3Object
from handler.reports import Reports
from handler.settings import Settings
from handler.storage import Storage
from tests import s3_events as events
from tests.handler.s3_fakes import Bucket, answer, photo, status
from tests.s3_server import Fault, Proxy

HALF = "\ud800"  # of a surrogate pair: JSON can carry it, UTF-8 cannot
OPTIONS = {
    "a key": '{"\\ud800": 1}',
    "a value": '{"format": "\\ud800"}',
    "a style": '{"style": "\\ud800"}',
    "a list": '{"size": ["\\ud800"]}',
}


def sendable(said: Any) -> bool:
    """As Lambda's runtime writes an answer."""
    return bool(json.dumps(said, ensure_ascii=False).encode())


# Error reports


def settle(buckets: list[Bucket], settings: list[dict[str, Any]]) -> int:
    """Tell every function of every object in its bucket, and of what comes of that; how many there are at last."""
    told: set[tuple[str, str]] = set()
    for _ in range(9):
        for bucket, chosen in zip(buckets, settings, strict=True):
            for key in bucket.keys():  # noqa: SIM118, as Bucket is no mapping
                event = events.notification(key, bucket=bucket.name)
                answer(bucket.events(error_reports=True, **chosen), event)
                told.add((bucket.name, key))
    assert told == {(bucket.name, key) for bucket in buckets for key in bucket.keys()}  # noqa: SIM118
    return len(told)


def test_two_functions_on_one_bucket_do_not_report_each_other_s_reports_for_ever(bucket: Bucket) -> None:
    bucket.put("notes.txt", b"no photo")
    assert settle([bucket, bucket], [{"output_prefix": "anime/"}, {"output_prefix": "ink/"}]) == 3


def test_two_buckets_that_are_each_other_s_output_do_not_either(bucket: Bucket, s3_endpoint: str) -> None:
    other = Bucket(s3_endpoint)
    bucket.put("notes.txt", b"no photo")
    assert settle([bucket, other], [{"output_bucket": other.name}, {"output_bucket": bucket.name}]) == 2


def test_a_report_is_marked_like_a_picture(bucket: Bucket) -> None:
    bucket.put("a.jpg", b"no photo")
    answer(bucket.events(error_reports=True), events.notification("a.jpg", bucket=bucket.name))
    assert bucket.get("anime/a.jpg.error.json")["Metadata"]["animegan"] == "converted"


def test_a_defect_while_a_report_is_written_is_logged_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    reports = Reports(Settings(error_reports=True), Storage(None))  # which has no put_object
    reports.write(S3Object("photos", "a.jpg"), CorruptImage("torn"), Caller("s3"))
    assert "the error report of s3://photos/a.jpg met a defect" in caplog.text


# Halves of surrogate pairs


@pytest.mark.parametrize("reports", [True, False])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_what_cannot_be_encoded_in_an_object_s_parameters_is_told_in_escapes(
    bucket: Bucket, options: str, reports: bool
) -> None:
    bucket.put("a.jpg", photo(), Metadata={"animegan-options": options})
    for wrap in (events.notification, events.batch, events.batcher):
        said = answer(bucket.events(error_reports=reports), wrap("a.jpg", bucket=bucket.name))
        assert sendable(said)
        assert "\\ud800" in str(said) or "\\\\ud800" in str(said)
    assert bucket.keys("anime/") == ({"anime/a.jpg.error.json"} if reports else set())


@pytest.mark.parametrize(
    "event",
    [
        {"bucket": HALF, "key": "a.jpg"},
        {"Items": [{"Key": "a.jpg"}], "BatchInput": {"bucket": HALF}},
        {"Items": [{"Key": "a.jpg", "bucket": "photos", "versionId": HALF}]},
        {"Items": [{"Key": "a.jpg", "bucket": "photos", "style": HALF}]},
        events.batch("a.jpg", version=HALF),
        events.notification("a.jpg", version=HALF),
        events.eventbridge("a.jpg", version=HALF),
        events.notification("a.jpg", name=HALF),
        events.eventbridge("a.jpg", name=HALF),
        {**events.batch("a.jpg"), "invocationId": HALF},
        {"invocationSchemaVersion": HALF, "tasks": [{"taskId": HALF}]},
        {"Records": [{"eventSource": "aws:sqs", "messageId": HALF, "body": "{}"}]},
        {"Records": [{"eventSource": "aws:s3", "eventName": HALF, "s3": {"bucket": {"name": HALF}}}]},
    ],
)
def test_what_cannot_be_encoded_in_an_event_does_not_get_into_its_answer(
    bucket: Bucket, event: dict[str, Any]
) -> None:
    assert sendable(answer(bucket.events(error_reports=True), event))


@pytest.mark.parametrize("version", [5, {"a": 1}, ["x"], True])
def test_a_version_that_is_no_text_is_no_object(bucket: Bucket, version: Any) -> None:
    for event in (
        events.notification("a.jpg", bucket=bucket.name, version=version),
        events.eventbridge("a.jpg", bucket.name, version=version),
    ):
        assert status(answer(bucket.events(), event)) == [("failed", "unreadable_event")]


# Parameters


@pytest.mark.parametrize("options", ["[" * 2000, '{"a":' * 390, "[" * 1000 + "]" * 1000])
def test_parameters_that_are_nested_deeply_are_wrong_for_good(bucket: Bucket, options: str) -> None:
    bucket.put("a.jpg", photo(), Metadata={"animegan-options": options})
    said = answer(bucket.events(), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("failed", "invalid_parameter")]


def test_a_value_that_is_nested_too_deeply_to_be_shown_is_left_out() -> None:
    nested: Any = 1
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(InvalidParameter, match=r"^size=…: "):
        validated({"size": nested})


@pytest.mark.parametrize("style", [5, ["ink"], {"a": 1}, True])
def test_a_style_that_is_no_text_is_a_wrong_parameter_of_its_object(bucket: Bucket, style: Any) -> None:
    bucket.put("a.jpg", photo())
    job = {**events.batch("a.jpg", bucket=bucket.name), "job": {"userArguments": {"style": style}}}
    (result,) = answer(bucket.events(), job)["results"]
    assert result["resultCode"] == "PermanentFailure"
    assert result["resultString"].startswith(f"invalid_parameter: style={style}")
    (one,) = answer(bucket.events(), events.batcher("a.jpg", bucket=bucket.name, style=style))["results"]
    assert (one["code"], one["key"]) == ("invalid_parameter", "a.jpg")


# HEADs whose answer has no reason


@pytest.mark.parametrize(
    ("code", "expected"), [("InvalidRequest", "storage_refused"), ("InvalidArgument", "storage_refused")]
)
def test_a_head_that_is_refused_without_a_reason_fails_with_that_of_a_get(
    bucket: Bucket, faulty: Proxy, code: str, expected: str
) -> None:
    bucket.put("a.jpg", photo())
    faulty.faults = [Fault(method, "a.jpg", times=9, status=400, code=code) for method in ("HEAD", "GET")]
    said = answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("failed", expected)]
    assert code in said["objects"][0]["reason"]


@pytest.mark.parametrize("code", ["ExpiredToken", "RequestTimeout", None])
def test_a_head_that_is_refused_for_now_is_tried_again(bucket: Bucket, faulty: Proxy, code: str | None) -> None:
    bucket.put("a.jpg", photo())
    faulty.faults = [Fault("HEAD", "a.jpg", times=9, status=400)]
    if code:
        faulty.faults += [Fault("GET", "a.jpg", times=9, status=400, code=code)]
    with pytest.raises(Unfinished):
        answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))


# Names


@pytest.mark.parametrize(
    "name", [lambda key: output_key("anime/", key, "cel", "png"), lambda key: report_key("anime/", key)]
)
def test_a_key_that_is_made_to_look_like_a_name_of_ours_gets_a_name_of_its_own(name: Callable[[str], str]) -> None:
    for key in ("a//b", "x" * 1024, "../a"):
        ending = name("").partition("~")[2][16:]
        crafted = name(key).removeprefix("anime/").removesuffix(ending)
        assert name(crafted) != name(key)
        again = name(crafted).removeprefix("anime/").removesuffix(ending)
        assert len({name(key), name(crafted), name(again)}) == 3
