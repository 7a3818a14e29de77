"""The one line that an S3 object leaves: after the put, with the time of get and put, whatever went wrong."""

from __future__ import annotations

import time

import pytest

from handler.errors import Unfinished
from tests import s3_events as events
from tests.handler.s3_fakes import Bucket, answer, lines, photo, status, versioned
from tests.s3_server import Fault, Proxy


@pytest.mark.parametrize(("method", "metric"), [("GET", "S3GetDuration"), ("PUT", "S3PutDuration")])
def test_a_slow_get_and_a_slow_put_are_told_apart_and_are_part_of_the_duration(
    bucket: Bucket, faulty: Proxy, capsys: pytest.CaptureFixture[str], method: str, metric: str
) -> None:
    bucket.put("a.jpg", photo())
    faulty.faults = [Fault(method, "a.jpg", before=lambda: time.sleep(0.4))]
    answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    (line,) = lines(capsys.readouterr().out)
    (other,) = {"S3GetDuration", "S3PutDuration"} - {metric}
    assert line[metric][0] >= 400 > line[other][0] > 0
    parts = [line[name][0] for name in ("S3GetDuration", "InferenceDuration", "S3PutDuration")]
    assert line["Duration"][0] >= sum(parts)
    assert {"s3_get", "inference", "s3_put"} <= line["stage_cpu"].keys()
    assert (line["error"], line["output"]) == (None, "anime/a.jpg.cel.jpg")


def test_a_put_that_fails_is_the_error_of_the_conversion_s_one_line(
    bucket: Bucket, faulty: Proxy, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.put("a.jpg", photo())
    faulty.faults = [Fault("PUT", "a.jpg", times=2, status=503, code="SlowDown")]
    with pytest.raises(Unfinished):
        answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    (line,) = lines(capsys.readouterr().out)
    assert (line["event"], line["error"], line["ConversionErrors"]) == ("conversion", "storage_unavailable", [1])
    assert (line["Style"], line["input_width"], line["output_width"]) == ("cel", 48, 48)
    assert line["InferenceDuration"][0] >= 0
    assert line["S3PutDuration"][0] > 0


def test_a_get_that_fails_says_how_long_it_took(
    bucket: Bucket, faulty: Proxy, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.put("a.jpg", photo())
    faulty.faults = [Fault("GET", "a.jpg", status=403, code="AccessDenied")]
    said = answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("failed", "access_denied")]
    (line,) = lines(capsys.readouterr().out)
    assert (line["error"], line["Style"]) == ("access_denied", "unknown")
    assert line["S3GetDuration"][0] > 0
    assert not {"S3PutDuration", "InferenceDuration"} & line.keys()


def test_a_conversion_that_another_was_quicker_than_leaves_one_line_with_the_reason(
    bucket: Bucket, faulty: Proxy, capsys: pytest.CaptureFixture[str]
) -> None:
    older, newer = versioned(bucket, photo(), photo(seed=9))

    def overtake() -> None:
        answer(bucket.events(), events.notification("a.jpg", bucket=bucket.name, version=newer))

    faulty.faults = [Fault("PUT", "a.jpg", before=overtake)]
    answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name, version=older))
    quicker, late = lines(capsys.readouterr().out)
    assert "reason" not in quicker
    assert (late["event"], late["error"], late["version_id"]) == ("conversion", None, older)
    assert "newer version" in late["reason"]
    assert late["S3PutDuration"][0] > 0


def test_an_object_that_needs_no_conversion_leaves_one_line_that_says_so(
    bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.put("a.jpg", photo())
    for _ in range(2):
        answer(bucket.events(), events.notification("a.jpg", bucket=bucket.name))
    _, again = lines(capsys.readouterr().out)
    assert (again["event"], again["reason"]) == ("skipped", "its picture is there")
    assert again["environment"]
