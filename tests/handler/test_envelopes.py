"""Which objects an event is about, and what each envelope answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handler.envelopes import Envelope, envelope
from handler.errors import CorruptImage, StorageUnavailable, Unfinished, UnknownEvent, UnreadableEvent
from handler.objects import Ignored, Outcome, S3Object
from tests import s3_events as events
from tests.s3_events import Event

KEYS = [
    "photos/cat.jpg",
    "photos/my cat photo.jpg",
    "photos/a+b=c.jpg",
    "photos/100%25+done.webp",
    "100%.png",
    "%2B.jpg",
    "写真/猫 と 犬.png",
    "up/😀 selfie (1).JPG",
    'u/o\'brien "x"&y;z,1.heic',
    "no-extension",
    "../../etc/passwd.jpg",
    "a//b.jpg",
]
WRAPPED: dict[str, Callable[[str], Event]] = {
    "s3": events.notification,
    "s3 in sqs": lambda key: events.sqs(events.notification(key)),
    "s3 in sns": lambda key: events.sns(events.notification(key)),
    "s3 in sns in sqs": lambda key: events.sqs(events.in_sns(events.notification(key))),
    "eventbridge": events.eventbridge,
    "eventbridge in sqs": lambda key: events.sqs(events.eventbridge(key)),
    "eventbridge in sns": lambda key: events.sns(events.eventbridge(key)),
    "s3 batch 1.0": lambda key: events.batch(key, schema="1.0"),
    "s3 batch 2.0": lambda key: events.batch(key, schema="2.0"),
    "map, one item": lambda key: {**events.listed(key), "Bucket": "photos"},
    "map, rows of csv": lambda key: {"Items": [{"bucket": "photos", "key": key}]},
    "map, batched": events.batcher,
}


def read(event: Event) -> Envelope:
    found = envelope(event)
    assert found
    return found


def objects(event: Event) -> list[S3Object]:
    found = [item.found for item in read(event).items]
    assert all(isinstance(one, S3Object) for one in found), found
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("wrap", WRAPPED.values(), ids=WRAPPED)
def test_keys_come_out_of_every_envelope_as_they_are_in_s3(wrap: Callable[[str], Event], key: str) -> None:
    (found,) = objects(json.loads(json.dumps(wrap(key))))
    assert (found.bucket, found.key) == ("photos", key)


@pytest.mark.parametrize("schema", ["1.0", "2.0"])
def test_versions_come_out_of_the_envelopes_that_have_them(schema: str) -> None:
    for event in (
        events.notification("a.jpg", version="v1"),
        events.eventbridge("a.jpg", version="v1"),
        events.batch("a.jpg", schema=schema, version="v1"),
    ):
        assert objects(event)[0].version_id == "v1"
    for event in (events.notification("a.jpg"), events.eventbridge("a.jpg"), events.batch("a.jpg", schema=schema)):
        assert objects(event)[0].version_id is None


def test_all_records_of_all_messages_are_found_in_their_order() -> None:
    event = events.sqs(
        events.notification("a", "b"), events.in_sns(events.notification("c")), events.eventbridge("d")
    )
    assert [(item.id, item.found.key) for item in read(event).items] == [  # type: ignore[union-attr]
        *(("m0", "a"), ("m0", "b"), ("m1", "c"), ("m2", "d"))
    ]


@pytest.mark.parametrize(
    "event",
    [
        events.TEST_EVENT,
        events.sqs(events.TEST_EVENT),
        events.sns(events.TEST_EVENT),
        events.sqs(events.in_sns(events.TEST_EVENT)),
        events.notification("a.jpg", name="ObjectRemoved:Delete"),
        events.notification("a.jpg", name="s3:ObjectRestore:Completed"),
        events.notification("a.jpg", name="ObjectTagging:Put"),
        events.eventbridge("a.jpg", name="Object Deleted"),
        events.sqs(events.eventbridge("a.jpg", name="Object Tags Added")),
    ],
)
def test_test_messages_deletions_and_the_like_are_ignored(event: Event) -> None:
    (item,) = read(event).items
    assert isinstance(item.found, Ignored)


@pytest.mark.parametrize(
    "name", ["ObjectCreated:Put", "ObjectCreated:CompleteMultipartUpload", "s3:ObjectCreated:Copy"]
)
def test_every_way_of_creation_counts(name: str) -> None:
    assert objects(events.notification("a.jpg", name=name))


@pytest.mark.parametrize(
    "event",
    [
        events.sqs("no json"),
        events.sqs("[1, 2]"),
        events.sqs("null"),
        events.sqs('{"message": "hello"}'),
        events.sqs({"Records": [{"eventSource": "aws:dynamodb"}]}),
        events.sqs({"Records": [None]}),
        events.sqs(events.in_sns("hello")),
        events.sns("Hello from SNS!"),
        events.sqs("[" * 100_000),
        events.notification(""),
        {"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": {}}]},
        {"source": "aws.s3", "detail-type": "Object Created", "detail": None},
        events.eventbridge("\ud800.jpg"),
        {"invocationSchemaVersion": "2.0", "tasks": [{"taskId": "t0", "s3Key": None, "s3Bucket": "b"}]},
        {"invocationSchemaVersion": "1.0", "tasks": [{"taskId": "t0", "s3Key": "a", "s3BucketArn": None}]},
        {"Items": ["a.jpg"]},
        {"Items": [{"Size": 1}]},
    ],
)
def test_what_names_no_object_is_an_error_of_that_item_alone(event: Event) -> None:
    (item,) = read(event).items
    assert isinstance(item.found, UnreadableEvent)
    assert len(str(item.found)) < 400


@pytest.mark.parametrize(
    "event",
    [{}, {"Records": []}, {"Records": None}, {"Records": [{"eventSource": "aws:kinesis"}]}, {"source": "aws.ec2"}],
)
def test_other_events_are_no_envelope(event: Event) -> None:
    assert envelope(event) is None


@pytest.mark.parametrize(
    "event",
    [
        {"Records": [{"eventSource": "aws:sqs", "messageId": "m", "body": "{}"}, None]},
        {"Records": [{"EventSource": "aws:sns"}, 1]},
        {"invocationSchemaVersion": "2.0", "tasks": [None]},
        {"invocationSchemaVersion": "2.0", "tasks": [], "job": "j"},
    ],
)
def test_an_envelope_that_is_torn_itself_is_named(event: Event) -> None:
    with pytest.raises(UnknownEvent, match="event is malformed"):
        envelope(event)


def test_a_map_takes_bucket_and_style_from_its_batch_input_or_its_items() -> None:
    assert objects(events.batcher("a.jpg", style="paprika"))[0].style == "paprika"
    assert objects(events.batcher("a.jpg", bucket=None))[0].bucket == ""
    own = {
        "Items": [{"bucket": "other", "key": "a", "style": "hayao"}],
        "BatchInput": {"bucket": "b", "style": "c"},
    }
    assert objects(own) == [S3Object("other", "a", style="hayao")]


def test_a_job_takes_its_style_from_user_arguments_and_access_points_for_buckets() -> None:
    event = events.batch("a.jpg", schema="1.0")
    event["job"]["userArguments"] = {"style": "paprika"}
    event["tasks"][0]["s3BucketArn"] = arn = "arn:aws:s3:eu-central-1:123456789012:accesspoint/mine"
    assert objects(event) == [S3Object(arn, "a.jpg", style="paprika")]


def outcomes(found: Envelope) -> list[Outcome]:
    """In turn: converted, failed for good, failed for now, left for lack of time."""
    made, never, later, left = found.items
    return [
        Outcome(made, "converted", output="anime/a.cel.jpg"),
        Outcome(never, "failed", error=CorruptImage("torn")),
        Outcome(later, "failed", error=StorageUnavailable("slow down")),
        Outcome(left, "unprocessed", "no time"),
    ]


def test_sqs_gets_back_what_has_to_be_tried_again_and_each_message_once() -> None:
    found = read(events.sqs(*(events.notification(key) for key in "abcd")))
    assert found.answer(outcomes(found)) == {
        "batchItemFailures": [{"itemIdentifier": "m2"}, {"itemIdentifier": "m3"}]
    }
    found = read(events.sqs(events.notification("a", "b"), events.notification("c", "d")))
    assert found.answer(outcomes(found)) == {"batchItemFailures": [{"itemIdentifier": "m1"}]}


def test_sqs_gets_back_a_message_that_nobody_can_read_for_its_dead_letter_queue() -> None:
    found = read(events.sqs("no json"))
    (item,) = found.items
    assert isinstance(item.found, UnreadableEvent)
    answer = found.answer([Outcome(item, "failed", error=item.found)])
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m0"}]}


@pytest.mark.parametrize("schema", ["1.0", "2.0"])
def test_s3_batch_gets_a_result_code_for_every_task(schema: str) -> None:
    found = read(events.batch("a", "b", "c", "d", schema=schema))
    answer = found.answer(outcomes(found))
    assert answer["invocationSchemaVersion"] == schema
    assert answer["invocationId"] == "i"
    assert answer["treatMissingKeysAs"] == "TemporaryFailure"
    assert [(result["taskId"], result["resultCode"]) for result in answer["results"]] == [
        ("t0", "Succeeded"),
        ("t1", "PermanentFailure"),
        ("t2", "TemporaryFailure"),
        ("t3", "TemporaryFailure"),
    ]
    assert answer["results"][1]["resultString"] == "corrupt_image: torn"


@pytest.mark.parametrize("wrap", [events.notification, events.batcher])
def test_where_only_an_exception_is_retried_one_is_raised_at_the_end(wrap: Callable[..., Event]) -> None:
    found = read(wrap("a", "b", "c", "d"))
    with pytest.raises(Unfinished, match=r"2 of 4 .*slow down.*no time"):
        found.answer(outcomes(found))


def test_an_answer_without_anything_to_retry_says_what_became_of_each_object() -> None:
    found = read(events.notification("a", "b"))
    made, never = found.items
    done = [Outcome(made, "converted", output="x"), Outcome(never, "failed", error=CorruptImage("torn"))]
    answer = found.answer(done)
    assert (answer["converted"], answer["failed"]) == (1, 1)
    assert answer["objects"][0] == {"status": "converted", "bucket": "photos", "key": "a", "output": "x"}
    assert answer["objects"][1]["code"] == "corrupt_image"
    single = read({"bucket": "photos", "key": "a"})
    assert single.answer([Outcome(single.items[0], "converted", output="x")])["status"] == "converted"


def test_recorded_keys_are_decoded_exactly_once(shared: Callable[[str], Path]) -> None:
    recorded = json.loads(shared("data/events/localstack-recorded/s3_notifications_sqs.snapshot.json").read_text())
    (test,) = [said for name, said in recorded.items() if name.endswith("::test_key_encoding")]
    messages = test["recorded-content"]["receive_messages"]["messages"]
    assert [found.key for found in objects({"Records": messages})] == ["a@b"]


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("s3_put_key_percent", ["photos/100%25 done.webp"]),
        ("s3_put_key_emoji", ["up/😀 selfie (1).JPG"]),
        ("s3_put_key_nested-quotes", ['u/o\'brien "x"&y;z,1.heic']),
        ("s3_put_two_records", ["photos/cat.jpg", "写真/猫 と 犬.png"]),
        ("sqs_sns_s3_put_space", ["photos/my cat photo.jpg"]),
        ("eventbridge_object_created_key_plus", ["photos/a+b=c.jpg"]),
        ("s3batch_v1_key_space", ["photos/my cat photo.jpg"]),
        ("s3batch_v2_key_unicode", ["写真/猫 と 犬.png"]),
        ("sfn_dmap_itembatcher_csv", ["photos/my cat photo.jpg", "写真/猫 と 犬.png"]),
        ("sfn_dmap_single_item_listobjectsv2", ["photos/my cat photo.jpg"]),
    ],
)
def test_fixtures_name_the_objects_that_they_were_composed_of(
    shared: Callable[[str], Path], name: str, keys: list[str]
) -> None:
    event: Any = json.loads(shared(f"data/events/composed/{name}.json").read_text())
    found = [one.key for one in objects(event)]
    assert found == keys
