"""S3 events end to end: boto3's client against moto's server over HTTP, and a proxy that makes things go wrong."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from handler.envelopes import envelope
from handler.errors import Unfinished, UnknownEvent
from handler.function import Function
from handler.naming import KEY_BYTES, output_key, report_key
from handler.storage import storage
from tests import s3_events as events
from tests.events import Context
from tests.handler.s3_fakes import Bucket, answer, is_negative, lines, photo, status, versioned
from tests.handler.test_envelopes import KEYS
from tests.s3_server import Fault, Proxy

Event = dict[str, Any]


# Names


@pytest.mark.parametrize("key", KEYS)
def test_a_photo_becomes_a_picture_whatever_its_key(bucket: Bucket, key: str) -> None:
    data = photo()
    bucket.put(key, data)
    said = answer(bucket.events(), events.notification(key, bucket=bucket.name))
    assert status(said) == [("converted", None)]
    (picture,) = bucket.keys("anime/")
    assert picture == said["objects"][0]["output"]
    assert is_negative(bucket.get(picture)["Body"], data)


def test_pictures_are_named_by_key_style_and_format_and_never_collide() -> None:
    assert output_key("anime/", "photos/cat.heic", "cel", "png") == "anime/photos/cat.heic.cel.png"
    keys = [
        *KEYS,
        "_/_/etc/passwd.jpg",
        "a/_/b.jpg",
        "x" * 1024,
        "x" * 1023 + "y",
        "猫" * 341,
        "a/.",
        "a/_",
        "/a",
        "_/a",
    ]
    names = [output_key("anime/", key, "cel", "jpeg") for key in keys]
    assert len(set(names)) == len(keys)
    for name in [*names, *(report_key("anime/", key) for key in keys)]:
        assert len(name.encode()) <= KEY_BYTES
        assert name.startswith("anime/")
        assert not {"", ".", ".."} & set(name.split("/"))


def test_the_longest_key_is_converted_too(bucket: Bucket) -> None:
    key = "猫" * 340 + ".jpg"
    assert len(key.encode()) == 1024
    bucket.put(key, photo())
    assert status(answer(bucket.events(), events.eventbridge(key, bucket.name))) == [("converted", None)]


# What is written


def test_a_picture_says_what_it_was_made_of(bucket: Bucket) -> None:
    etag = bucket.put("a.png", photo("png"))["ETag"].strip('"')
    answer(bucket.events(), events.notification("a.png", bucket=bucket.name))
    picture = bucket.get("anime/a.png.cel.png")
    assert (picture["ContentType"], picture["CacheControl"]) == ("image/png", "max-age=86400")
    assert picture["Body"].startswith(b"\x89PNG")
    said = picture["Metadata"]
    assert said["animegan"] == "converted"
    assert (said["source-etag"], said["source-bucket"], said["style"]) == (etag, bucket.name, "cel")
    assert {"animegan-version", "settings", "source-version", "source-modified"} <= said.keys()


@pytest.mark.parametrize(
    ("key", "format", "picture", "kind"),
    [
        ("a.webp", "auto", "anime/a.webp.cel.webp", "image/webp"),
        ("a.JPG", "auto", "anime/a.JPG.cel.jpg", "image/jpeg"),
        ("a.tiff", "auto", "anime/a.tiff.cel.png", "image/png"),
        ("a", "auto", "anime/a.cel.png", "image/png"),
        ("a", "webp", "anime/a.cel.webp", "image/webp"),
    ],
)
def test_the_format_is_known_from_the_key_or_the_settings(
    bucket: Bucket, key: str, format: str, picture: str, kind: str
) -> None:
    bucket.put(key, photo())
    answer(bucket.events(output_format=format), events.notification(key, bucket=bucket.name))
    assert bucket.get(picture)["ContentType"] == kind


def test_pictures_go_to_a_bucket_of_their_own_where_one_is_set(bucket: Bucket, s3_endpoint: str) -> None:
    other = Bucket(s3_endpoint)
    bucket.put("anime/a.jpg", photo())  # which is no picture's place in this bucket
    events_ = bucket.events(output_bucket=other.name, output_prefix="")
    assert status(answer(events_, events.notification("anime/a.jpg", bucket=bucket.name))) == [("converted", None)]
    assert other.keys() == {"anime/a.jpg.cel.jpg"}
    assert bucket.keys() == {"anime/a.jpg"}


def test_two_buckets_never_overwrite_each_others_pictures(bucket: Bucket, s3_endpoint: str) -> None:
    second, out = Bucket(s3_endpoint), Bucket(s3_endpoint)
    for source in (bucket, second):
        source.put("a.jpg", photo())
    events_ = bucket.events(output_bucket=out.name)
    said = [answer(events_, events.notification("a.jpg", bucket=source.name)) for source in (bucket, second)]
    assert [status(one) for one in said] == [[("converted", None)], [("failed", "storage_refused")]]
    assert out.get("anime/a.jpg.cel.jpg")["Metadata"]["source-bucket"] == bucket.name


def test_the_style_comes_from_job_or_object_or_settings_and_parameters_from_the_object(bucket: Bucket) -> None:
    wanted = {"animegan-options": json.dumps({"style": "ink", "format": "webp", "size": 32})}
    bucket.put("a.jpg", photo(), Metadata=wanted)
    answer(bucket.events(), events.notification("a.jpg", bucket=bucket.name))
    answer(bucket.events(), events.batcher("a.jpg", bucket=bucket.name, style="cel"))
    assert bucket.keys("anime/") == {"anime/a.jpg.ink.webp", "anime/a.jpg.cel.webp"}


@pytest.mark.parametrize("options", ["no json", "[]", '{"size": -1}', '{"sise": 3}', '{"face": 7}'])
def test_wrong_parameters_of_an_object_are_told(bucket: Bucket, options: str) -> None:
    bucket.put("a.jpg", photo(), Metadata={"animegan-options": options})
    said = answer(bucket.events(), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("failed", "invalid_parameter")]


def test_an_unknown_style_is_told(bucket: Bucket) -> None:
    bucket.put("a.jpg", photo())
    said = answer(bucket.events(), events.batcher("a.jpg", bucket=bucket.name, style="../oil"))
    assert [one["code"] for one in said["results"]] == ["unknown_style"]


# Never its own output


def test_its_own_pictures_are_never_converted(bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    bucket.put("a.jpg", photo())
    events_ = bucket.events()
    answer(events_, events.notification("a.jpg", bucket=bucket.name))
    (picture,) = bucket.keys("anime/")
    bucket.s3.copy_object(Bucket=bucket.name, Key="b.jpg", CopySource={"Bucket": bucket.name, "Key": picture})
    capsys.readouterr()
    said = answer(events_, events.notification(picture, "b.jpg", "anime/x.error.json", bucket=bucket.name))
    assert said["ignored"] == 3
    assert bucket.keys("anime/") == {picture}
    assert [line["reason"] for line in lines(capsys.readouterr().out)] == [
        "it lies where pictures go",
        "it is a picture or a report of ours",
        "it lies where pictures go",
    ]


# As often as it should be


def test_a_duplicate_is_skipped_and_a_changed_photo_or_setting_is_not(bucket: Bucket) -> None:
    event = events.notification("a.jpg", bucket=bucket.name)
    bucket.put("a.jpg", photo())
    first = answer(bucket.events(), events.notification("a.jpg", "a.jpg", bucket=bucket.name))
    assert [code for code, _ in status(first)] == ["converted", "skipped"]
    made = bucket.get("anime/a.jpg.cel.jpg")["LastModified"]
    assert status(answer(bucket.events(), event)) == [("skipped", None)]
    assert bucket.get("anime/a.jpg.cel.jpg")["LastModified"] == made
    assert status(answer(bucket.events(max_side=64), event)) == [("converted", None)]
    assert status(answer(bucket.events(max_side=64, force=True), event)) == [("converted", None)]
    bucket.put("a.jpg", photo(seed=9))
    assert status(answer(bucket.events(max_side=64), event)) == [("converted", None)]
    assert is_negative(bucket.get("anime/a.jpg.cel.jpg")["Body"], photo(seed=9))


def test_duplicates_at_the_same_time_leave_one_right_picture(bucket: Bucket) -> None:
    data = photo(seed=7)
    bucket.put("a.jpg", data)
    event, events_ = events.notification("a.jpg", bucket=bucket.name), bucket.events()
    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(lambda _: answer(events_, event), range(12)))
    assert {one["objects"][0]["status"] for one in said} <= {"converted", "skipped"}
    assert bucket.keys("anime/") == {"anime/a.jpg.cel.jpg"}
    assert is_negative(bucket.get("anime/a.jpg.cel.jpg")["Body"], data)


def test_the_version_of_the_event_is_the_one_that_is_converted(bucket: Bucket) -> None:
    old, _ = versioned(bucket, photo(seed=1), photo(seed=2))
    answer(bucket.events(), events.batch("a.jpg", bucket=bucket.name, version=old))
    picture = bucket.get("anime/a.jpg.cel.jpg")
    assert picture["Metadata"]["source-version"] == old
    assert is_negative(picture["Body"], photo(seed=1))


def test_an_event_that_comes_late_does_not_put_an_old_picture_over_a_new_one(bucket: Bucket) -> None:
    (old,) = versioned(bucket, photo(seed=1))
    time.sleep(1.1)
    (new,) = versioned(bucket, photo(seed=2))
    for version, expected in ((new, "converted"), (old, "skipped"), (new, "skipped")):
        said = answer(bucket.events(), events.notification("a.jpg", bucket=bucket.name, version=version))
        assert said["objects"][0]["status"] == expected
    assert is_negative(bucket.get("anime/a.jpg.cel.jpg")["Body"], photo(seed=2))


def test_a_deleted_version_or_one_that_never_was_is_missing(bucket: Bucket) -> None:
    versioned(bucket, photo())
    marker = bucket.s3.delete_object(Bucket=bucket.name, Key="a.jpg")["VersionId"]
    for version in (None, marker, "1234"):
        said = answer(bucket.events(), events.notification("a.jpg", bucket=bucket.name, version=version))
        assert status(said) == [("failed", "source_missing")], version


# Permanent errors


def test_what_is_no_photo_has_a_reason_and_a_line_each(bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    bucket.put("folder/", b"")
    bucket.put("empty.jpg", b"")
    bucket.put("text.jpg", b"This is no photo." * 9)
    bucket.put("torn.jpg", photo()[:300])
    bucket.put("large.jpg", photo(width=4000, height=3000))
    keys = ["folder/", "empty.jpg", "text.jpg", "torn.jpg", "large.jpg", "missing.jpg"]
    said = answer(bucket.events(max_input_bytes=50_000), events.notification(*keys, bucket=bucket.name))
    assert status(said) == [
        ("ignored", None),
        ("failed", "empty_image"),
        ("failed", "unsupported_format"),
        ("failed", "corrupt_image"),
        ("failed", "payload_too_large"),
        ("failed", "source_missing"),
    ]
    told = list(lines(capsys.readouterr().out))
    assert [(line["key"], line.get("error")) for line in told] == [
        (key, one.get("code")) for key, one in zip(keys, said["objects"], strict=True)
    ]
    assert {line["Source"] for line in told} == {"s3"}
    assert {line["request_id"] for line in told} == {Context().aws_request_id}
    assert not bucket.keys("anime/")


def test_an_error_report_lies_where_the_picture_would_where_it_is_asked_for(bucket: Bucket) -> None:
    bucket.put("写真/text.jpg", b"no photo")
    answer(bucket.events(error_reports=True), events.eventbridge("写真/text.jpg", bucket.name))
    report = bucket.get("anime/写真/text.jpg.error.json")
    said = json.loads(report["Body"])
    assert report["ContentType"] == "application/json"
    assert (said["code"], said["key"], said["bucket"]) == ("unsupported_format", "写真/text.jpg", bucket.name)
    assert said["detail"]


def test_a_bucket_that_is_missing_or_cannot_be_one_is_permanent(bucket: Bucket) -> None:
    for name in ("nobody-has-this-bucket-here", "<resource:1>", "x"):
        said = answer(bucket.events(error_reports=True), events.notification("a.jpg", bucket=name))
        assert said["objects"][0]["code"] in ("source_missing", "storage_refused")


def test_a_missing_bucket_for_pictures_is_refused_with_its_name(bucket: Bucket) -> None:
    bucket.put("a.jpg", photo())
    events_ = bucket.events(output_bucket="nobody-has-this-bucket-here", error_reports=True)
    said = answer(events_, events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("failed", "storage_refused")]
    assert "s3://nobody-has-this-bucket-here/" in said["objects"][0]["reason"]


def test_an_item_without_a_bucket_needs_the_setting(bucket: Bucket) -> None:
    bucket.put("a.jpg", photo())
    event = events.batcher("a.jpg", bucket=None)
    assert answer(bucket.events(), event)["results"][0]["code"] == "invalid_parameter"
    assert answer(bucket.events(source_bucket=bucket.name), event)["results"][0]["status"] == "converted"


# Faults


PERMANENT = [(403, "AccessDenied", "access_denied"), (403, "InvalidObjectState", "source_archived")]
TRANSIENT = [(503, "SlowDown"), (500, "InternalError"), (400, "RequestTimeout"), (429, "TooManyRequests")]


@pytest.mark.parametrize("method", ["HEAD", "GET"])
@pytest.mark.parametrize(("code", "name", "expected"), PERMANENT)
def test_what_s3_denies_is_permanent(
    bucket: Bucket, faulty: Proxy, method: str, code: int, name: str, expected: str
) -> None:
    bucket.put("a.jpg", photo())
    faulty.faults = [Fault(method, "a.jpg", times=9, status=code, code=name)]
    said = answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    if method == "HEAD":  # whose answer has no body, and so no name of the error
        expected = "access_denied"
    assert status(said) == [("failed", expected)]


@pytest.mark.parametrize("method", ["HEAD", "GET", "PUT"])
@pytest.mark.parametrize(("code", "name"), TRANSIENT)
def test_a_transient_error_that_lasts_is_handed_back_and_then_converted(
    bucket: Bucket, faulty: Proxy, capsys: pytest.CaptureFixture[str], method: str, code: int, name: str
) -> None:
    bucket.put("a.jpg", photo())
    bucket.put("b.jpg", photo(seed=3))
    faulty.faults = [Fault(method, "a.jpg", times=2, status=code, code=name)]  # as often as boto3 tries here
    event = events.sqs(
        events.notification("a.jpg", bucket=bucket.name), events.notification("b.jpg", bucket=bucket.name)
    )
    events_ = bucket.events(faulty.url)
    assert answer(events_, event) == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert bucket.keys("anime/") == {"anime/b.jpg.cel.jpg"}
    assert "storage_unavailable" in {line.get("error") for line in lines(capsys.readouterr().out)}
    assert answer(events_, event) == {"batchItemFailures": []}
    assert bucket.keys("anime/") == {"anime/a.jpg.cel.jpg", "anime/b.jpg.cel.jpg"}


def test_a_passing_fault_is_not_even_noticed(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", photo())
    faulty.faults = [Fault(method, "a.jpg", status=503, code="SlowDown") for method in ("HEAD", "GET", "PUT")]
    said = answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("converted", None)]


@pytest.mark.parametrize("fault", [Fault("GET", "a.jpg", cut=True), Fault("GET", "a.jpg", stall=2.5)])
def test_a_body_that_is_cut_or_too_slow_is_transient_and_never_half_a_picture(
    bucket: Bucket, faulty: Proxy, fault: Fault
) -> None:
    bucket.put("a.jpg", photo())
    faulty.faults = [Fault(fault.method, fault.path, cut=fault.cut, stall=fault.stall)]
    events_ = bucket.events(faulty.url)
    with pytest.raises(Unfinished, match="1 of 1"):
        answer(events_, events.notification("a.jpg", bucket=bucket.name))
    assert not bucket.keys("anime/")
    assert status(answer(events_, events.notification("a.jpg", bucket=bucket.name))) == [("converted", None)]


def test_an_object_that_changes_between_head_and_get_is_looked_at_again(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", photo(seed=1))
    faulty.faults = [Fault("GET", "a.jpg", before=lambda: bucket.put("a.jpg", photo(seed=2)))]
    answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    picture = bucket.get("anime/a.jpg.cel.jpg")
    assert is_negative(picture["Body"], photo(seed=2))
    assert picture["Metadata"]["source-etag"] == bucket.s3.head_object(Bucket=bucket.name, Key="a.jpg")[
        "ETag"
    ].strip('"')


def test_an_object_that_never_stands_still_is_left_for_another_time(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", photo())
    seeds = iter(range(1, 9))
    faulty.faults = [Fault("GET", "a.jpg", times=2, before=lambda: bucket.put("a.jpg", photo(seed=next(seeds))))]
    event = events.batch("a.jpg", bucket=bucket.name)
    (result,) = answer(bucket.events(faulty.url), event)["results"]
    assert result["resultCode"] == "TemporaryFailure"
    assert result["resultString"].startswith("source_changed")


def test_a_download_over_the_limit_is_never_begun(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", photo(width=600, height=400))
    said = answer(bucket.events(faulty.url, max_input_bytes=500), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("failed", "payload_too_large")]
    assert [line.split()[0] for line in faulty.seen] == ["HEAD"]


def test_a_download_that_turns_out_larger_than_it_said_is_broken_off(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", photo(width=600, height=400))
    faulty.faults = [Fault("HEAD", "a.jpg", length=100)]
    said = answer(bucket.events(faulty.url, max_input_bytes=500), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("failed", "payload_too_large")]


def test_a_defect_of_ours_is_logged_and_tried_again(bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    bucket.put("a.jpg", photo())
    bucket.styles.manifests = None  # type: ignore[assignment]
    said = answer(bucket.events(), events.sqs(events.notification("a.jpg", bucket=bucket.name)))
    assert said == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    (line,) = lines(capsys.readouterr().out)
    assert line["error"] == "internal_error"
    assert "TypeError" in line["defect"]


def test_an_error_report_that_cannot_be_written_changes_nothing(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", b"no photo")
    faulty.faults = [Fault("PUT", "error.json", times=9, status=403, code="AccessDenied")]
    said = answer(bucket.events(faulty.url, error_reports=True), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("failed", "unsupported_format")]


def test_a_picture_that_cannot_be_looked_up_without_list_rights_is_made(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", photo())
    faulty.faults = [Fault("HEAD", "anime/a.jpg", status=403)]
    said = answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("converted", None)]


# Time


class Clock(Context):
    """29 s, less `spent_ms` for every time that somebody asks."""

    spent_ms = 0

    def get_remaining_time_in_millis(self) -> int:
        self.remaining_ms = max(0, self.remaining_ms - self.spent_ms)
        return self.remaining_ms


@pytest.mark.parametrize("wrap", [events.notification, events.batcher, events.batch])
def test_what_there_is_no_time_for_is_handed_back_and_done_next_time(
    bucket: Bucket, capsys: pytest.CaptureFixture[str], wrap: Callable[..., Event]
) -> None:
    keys = ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    for key in keys:
        bucket.put(key, photo())
    event, events_ = wrap(*keys, bucket=bucket.name), bucket.events()
    clock = Clock(remaining_ms=9_000)
    clock.spent_ms = 1_000  # asked seven times for each object
    if wrap is events.batch:
        results = answer(events_, event, clock)["results"]
        assert [result["resultCode"] for result in results] == ["Succeeded"] + ["TemporaryFailure"] * 3
    else:
        with pytest.raises(Unfinished, match="3 of 4"):
            answer(events_, event, clock)
    assert bucket.keys("anime/") == {"anime/a.jpg.cel.jpg"}
    assert [line["error"] for line in lines(capsys.readouterr().out)] == [None] + ["out_of_time"] * 3
    answer(events_, event)
    assert len(bucket.keys("anime/")) == 4


def test_later_objects_are_not_begun_in_less_time_than_earlier_ones_took(bucket: Bucket) -> None:
    for key in ("a.jpg", "b.jpg"):
        bucket.put(key, photo())
    bucket.styles.generator.seconds = 1.5
    event = events.sqs(*(events.notification(key, bucket=bucket.name) for key in ("a.jpg", "b.jpg")))
    assert answer(bucket.events(), event, Context(remaining_ms=1_700)) == {
        "batchItemFailures": [{"itemIdentifier": "m1"}]
    }


# Many


@pytest.mark.slow
def test_a_thousand_mixed_records_leave_one_right_picture_or_a_reason_each(
    bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {f"p/{n} +%{n}.jpg": photo(seed=n, width=16, height=16) for n in range(300)}
    bad = {f"bad/{n}.jpg": [b"", b"no photo", photo()[:200]][n % 3] for n in range(90)}
    for key, data in {**good, **bad}.items():
        bucket.put(key, data)
    records = [events.record(key, bucket.name) for key in [*good, *good, *bad, *bad]]
    records += [events.record(f"gone/{n}.jpg", bucket.name) for n in range(60)]
    records += [events.record("p/x.jpg", bucket.name, "ObjectRemoved:Delete") for _ in range(60)]
    bodies: list[Any] = [{"Records": [record]} for record in records]
    bodies += [events.TEST_EVENT, "poison", "{}", events.in_sns("poison")] * 25
    random.Random(1).shuffle(bodies)
    assert len(bodies) == 1000
    failed, events_ = 0, bucket.events(error_reports=True)
    for first in range(0, 1000, 50):
        failed += len(answer(events_, events.sqs(*bodies[first : first + 50]))["batchItemFailures"])
    pictures = {key for key in bucket.keys("anime/") if not key.endswith(".error.json")}
    assert pictures == {f"anime/{key}.cel.jpg" for key in good}
    assert all(is_negative(bucket.get(f"anime/{key}.cel.jpg")["Body"], data) for key, data in good.items())
    reports = bucket.keys("anime/") - pictures
    assert reports == {f"anime/{key}.error.json" for key in [*bad, *(f"gone/{n}.jpg" for n in range(60))]}
    assert failed == 75  # the messages that nobody can read
    told = list(lines(capsys.readouterr().out))
    assert len(told) == 1000
    assert sum(line["event"] == "conversion" and line["error"] is None for line in told) == 300


# The function


@pytest.fixture
def on_moto(function: Function, s3_endpoint: str) -> Iterator[Function]:
    """The function, whose S3 client is made anew: at its first S3 event, of the environment as it is then."""
    storage.cache_clear()
    function.__dict__.pop("_s3", None)
    yield function
    storage.cache_clear()
    function.__dict__.pop("_s3", None)


def test_the_function_converts_with_the_real_generator(on_moto: Function, bucket: Bucket) -> None:
    bucket.put("a b.jpg", photo())
    said = on_moto(events.notification("a b.jpg", bucket=bucket.name), Context())
    assert status(said) == [("converted", None)]
    assert bucket.get("anime/a b.jpg.cel.jpg")["Metadata"]["animegan"] == "converted"


def fixtures(shared: Callable[[str], Path]) -> Iterator[tuple[str, Any]]:
    folder = shared("data/events")
    for path in sorted(
        path for name in ("composed", "powertools", "lambda-go") for path in folder.glob(f"{name}/*")
    ):
        yield path.name, json.loads(path.read_text())
    for name in ("sqs", "sns"):
        recorded = json.loads((folder / f"localstack-recorded/s3_notifications_{name}.snapshot.json").read_text())
        for test, said in recorded.items():
            messages = said["recorded-content"].get("receive_messages", {})
            for message in messages.get("messages", []) if isinstance(messages, dict) else []:
                yield test, {"Records": [message]} if "s3" in message else events.sqs(message.get("Body", message))


def test_every_recorded_s3_event_is_answered(on_moto: Function, shared: Callable[[str], Path]) -> None:
    answered = 0
    for name, event in fixtures(shared):
        if isinstance(event, dict) and envelope(event):
            said = on_moto(event, Context())  # nothing is there, so nothing has to be tried again
            assert isinstance(said, dict), name
            answered += 1
    assert answered > 40


def test_fixtures_of_other_services_are_still_unknown(on_moto: Function, shared: Callable[[str], Path]) -> None:
    for name in ("composed/odd_records_empty.json", "powertools/eventBridgeEvent.json"):
        with pytest.raises(UnknownEvent, match="S3"):
            on_moto(json.loads(shared(f"data/events/{name}").read_text()), Context())
