"""Which picture stays when conversions of a photo overlap, events come late, or two versions share a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from handler.errors import Unfinished
from tests import s3_events as events
from tests.handler.s3_fakes import PATIENT, Bucket, answer, is_negative, photo, status, versioned
from tests.s3_server import Fault, Proxy

OLD, NEW = photo(seed=1), photo(seed=200)
PICTURE = "anime/a.jpg.cel.jpg"


def convert(bucket: Bucket, version: str | None = None, **settings: Any) -> str:
    event = events.notification("a.jpg", bucket=bucket.name, version=version)
    one: str = answer(bucket.events(**settings), event)["objects"][0]["status"]
    return one


def of_one_second(bucket: Bucket, *data: bytes) -> list[str]:
    """Versions of a.jpg that S3's dates cannot tell apart."""
    time.sleep(1 - time.time() % 1)
    versions = versioned(bucket, *data)
    dates = {
        bucket.s3.head_object(Bucket=bucket.name, Key="a.jpg", VersionId=version)["LastModified"]
        for version in versions
    }
    assert len(dates) == 1
    return versions


def puts(proxy: Proxy) -> int:
    return sum(line.startswith("PUT") for line in proxy.seen)


@pytest.mark.parametrize("may_list", [True, False])
@pytest.mark.parametrize("apart", [0.0, 1.1])
def test_a_slow_conversion_does_not_put_its_picture_over_that_of_a_newer_photo(
    bucket: Bucket, faulty: Proxy, apart: float, may_list: bool
) -> None:
    bucket.put("a.jpg", OLD)

    def overtaken() -> None:
        time.sleep(apart)
        bucket.put("a.jpg", NEW)
        assert convert(bucket) == "converted"

    denied = [] if may_list else [Fault("HEAD", PICTURE, status=403)]  # S3's answer of what is missing
    faulty.faults = [*denied, Fault("PUT", PICTURE, before=overtaken)]
    said = answer(bucket.events(faulty.url, PATIENT), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("skipped", None)]
    assert is_negative(bucket.get(PICTURE)["Body"], NEW)


@pytest.mark.parametrize("make", [of_one_second, versioned])
def test_a_newer_version_gets_its_picture_although_an_older_ones_came_between(
    bucket: Bucket, faulty: Proxy, make: Callable[..., list[str]]
) -> None:
    old, new = make(bucket, OLD, NEW)
    faulty.faults = [Fault("PUT", PICTURE, before=lambda: convert(bucket, old))]
    event = events.notification("a.jpg", bucket=bucket.name, version=new)
    assert status(answer(bucket.events(faulty.url), event)) == [("converted", None)]
    assert bucket.get(PICTURE)["Metadata"]["source-version"] == new


@pytest.mark.parametrize("newest_first", [True, False])
def test_of_two_versions_of_one_second_the_current_one_s_picture_stays(bucket: Bucket, newest_first: bool) -> None:
    old, new = of_one_second(bucket, OLD, NEW)
    said = [convert(bucket, version) for version in ((new, old) if newest_first else (old, new))]
    assert said == ["converted", "skipped" if newest_first else "converted"]
    assert is_negative(bucket.get(PICTURE)["Body"], NEW)
    assert convert(bucket, old) == "skipped"


def test_of_two_versions_of_one_second_that_are_deleted_the_last_to_come_is_converted(bucket: Bucket) -> None:
    old, new = of_one_second(bucket, OLD, NEW)
    bucket.s3.delete_object(Bucket=bucket.name, Key="a.jpg")
    assert [convert(bucket, version) for version in (old, new)] == ["converted", "converted"]
    assert is_negative(bucket.get(PICTURE)["Body"], NEW)


def test_in_a_fifo_queue_a_message_that_is_tried_again_undoes_nothing(bucket: Bucket, faulty: Proxy) -> None:
    old, new = of_one_second(bucket, OLD, NEW)
    versions = [events.notification("a.jpg", bucket=bucket.name, version=version) for version in (old, new)]
    queue = events.sqs(*versions)
    for message in queue["Records"]:
        message["attributes"] = {"MessageGroupId": "a.jpg", "SequenceNumber": message["messageId"]}
    faulty.faults = [Fault("GET", f"versionId={old}", times=2, status=503, code="SlowDown")]
    events_ = bucket.events(faulty.url)
    assert answer(events_, queue) == {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert answer(events_, {"Records": queue["Records"][:1]}) == {"batchItemFailures": []}
    assert is_negative(bucket.get(PICTURE)["Body"], NEW)


def test_a_version_from_before_versioning_is_the_same_with_and_without_its_name(bucket: Bucket) -> None:
    bucket.put("a.jpg", OLD)
    versioned(bucket)
    assert [convert(bucket, version) for version in ("null", None, "null")] == ["converted", "skipped", "skipped"]


# What a store answers to a PUT with a condition


def test_a_picture_that_vanishes_before_it_is_replaced_is_put_all_the_same(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", OLD)
    convert(bucket)
    faulty.faults = [
        Fault("PUT", PICTURE, before=lambda: bucket.s3.delete_object(Bucket=bucket.name, Key=PICTURE))
    ]
    event = events.notification("a.jpg", bucket=bucket.name)
    assert status(answer(bucket.events(faulty.url, max_side=64), event)) == [("converted", None)]
    assert bucket.keys("anime/") == {PICTURE}


def test_a_put_whose_answer_is_lost_and_that_boto3_repeats_is_no_error(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", OLD)
    faulty.faults = [Fault("PUT", PICTURE, lost=True)]
    said = answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("skipped", None)]  # its picture is there: its own
    assert is_negative(bucket.get(PICTURE)["Body"], OLD)


@pytest.mark.parametrize(("code", "name"), [(409, "ConditionalRequestConflict"), (412, "PreconditionFailed")])
def test_a_conflict_is_looked_at_and_tried_again(bucket: Bucket, faulty: Proxy, code: int, name: str) -> None:
    bucket.put("a.jpg", OLD)
    faulty.faults = [Fault("PUT", PICTURE, status=code, code=name)]
    said = answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("converted", None)]
    assert puts(faulty) == 2


def test_a_store_without_conditions_is_written_to_without_them(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", OLD)
    faulty.faults = [
        Fault("PUT", PICTURE, status=501, code="NotImplemented", before=lambda: bucket.put(PICTURE, b"another"))
    ]
    said = answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("converted", None)]
    assert is_negative(bucket.get(PICTURE)["Body"], OLD)


def test_a_place_that_never_stands_still_is_left_for_another_time(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", OLD)
    faulty.faults = [Fault("PUT", PICTURE, times=99, status=412, code="PreconditionFailed")]
    with pytest.raises(Unfinished, match="was replaced 3 times"):
        answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    assert puts(faulty) == 3


def test_without_the_right_to_look_a_picture_that_is_there_is_replaced(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", OLD)
    convert(bucket)
    bucket.put("a.jpg", NEW)
    faulty.faults = [Fault("HEAD", PICTURE, times=9, status=403)]
    said = answer(bucket.events(faulty.url), events.notification("a.jpg", bucket=bucket.name))
    assert status(said) == [("converted", None)]
    assert is_negative(bucket.get(PICTURE)["Body"], NEW)
