"""What reaches the queue is converted once: folders apart in every way that the rules allow, and its times."""

from __future__ import annotations

import re
from itertools import product

import pytest

from handler.deliveries import Queue
from handler.objects import S3Object
from handler.plan import is_output, is_upload
from handler.settings import UPLOADS
from tests.infra.templates import BUCKET, Template, settings, stack
from tests.s3_events import notification, sqs

FOLDERS = ["photos/", "anime/", UPLOADS, ""]


def watched(template: Template) -> set[str]:
    """What an object's key must begin with to reach the queue."""
    storage = template.nested("Storage")
    found = storage.resource("Bucket").get("NotificationConfiguration", {})
    rules = [rule for c in found.get("QueueConfigurations", []) for rule in c["Filter"]["S3Key"]["Rules"]]
    keys = {rule["Value"] for rule in rules if rule["Name"] == "prefix"}
    if found.get("EventBridgeConfiguration"):
        patterns = storage.resource("PhotoRule")["EventPattern"]["detail"]["object"]["key"]
        keys |= {pattern.get("prefix") or pattern["wildcard"].partition("*")[0] for pattern in patterns}
    return keys


@pytest.mark.parametrize("trigger", ["SQS", "EVENTBRIDGE"])
def test_whatever_the_rules_allow_converts_photos_and_uploads_and_no_picture(trigger: str) -> None:
    allowed = []
    for output, photos, bucket in product(FOLDERS, FOLDERS[:3], ["", "pictures"]):
        given = {"OutputPrefix": output, "PhotoPrefix": photos, "OutputBucket": bucket, "Trigger": trigger}
        if not (template := stack(**given)).is_allowed():
            continue
        allowed.append((output, photos, bucket))
        ours = settings(template)
        assert watched(template) == {photos, UPLOADS}
        assert not any(is_output(S3Object(BUCKET, key + "a.jpg"), ours) for key in watched(template))
        assert is_upload(S3Object(BUCKET, UPLOADS + "1/photo"), ours)
        assert bucket or not any(output.startswith(key) for key in watched(template))
    assert {("anime/", "photos/", ""), ("", "photos/", "pictures"), ("photos/", "anime/", "")} <= set(allowed)
    assert stack(Trigger=trigger).is_allowed()


@pytest.mark.parametrize(
    "given",
    [
        {"OutputPrefix": "photos/"},
        {"OutputPrefix": UPLOADS},
        {"OutputPrefix": ""},
        {"OutputPrefix": "", "OutputBucket": "mine", "BucketName": "mine"},
        {"OutputPrefix": "", "OutputBucket": "mine", "BackfillBucket": "mine"},
        {"PhotoPrefix": UPLOADS},
    ],
)
def test_what_could_loop_is_refused(given: dict[str, str]) -> None:
    assert not stack(**given).is_allowed()


def test_folders_have_one_level_so_that_none_lies_in_another() -> None:
    for name, folder in (("PhotoPrefix", "a.b-c/"), ("OutputPrefix", "anime/"), ("OutputPrefix", "")):
        pattern = stack().parameters[name]["AllowedPattern"]
        assert re.fullmatch(pattern, folder)
        assert not any(re.fullmatch(pattern, no) for no in ("a", "/", "a/b/", "../", "./", "/a/", "a//"))


def test_a_suffix_narrows_photos_and_not_uploads() -> None:
    storage = stack(PhotoSuffix=".jpg").nested("Storage").resource("Bucket")["NotificationConfiguration"]
    rules = [c["Filter"]["S3Key"]["Rules"] for c in storage["QueueConfigurations"]]
    assert [[rule["Name"] for rule in of] for of in rules] == [["prefix", "suffix"], ["prefix"]]
    pattern = stack(PhotoSuffix=".jpg", Trigger="EVENTBRIDGE").nested("Storage").resource("PhotoRule")
    keys = pattern["EventPattern"]["detail"]["object"]["key"]
    assert keys == [{"wildcard": "photos/*.jpg"}, {"prefix": UPLOADS}]


def test_without_a_trigger_nothing_reaches_the_queue_and_nothing_is_taken_from_it() -> None:
    template = stack(Trigger="NONE")
    assert watched(template) == set()
    assert template.resource("QueueSource")["Enabled"] is False


def test_the_queue_takes_messages_of_its_bucket_alone() -> None:
    storage = stack(BucketName="mine").nested("Storage")
    allowed, *_ = storage.resource("QueuePolicy")["PolicyDocument"]["Statement"]
    assert allowed["Condition"]["ArnEquals"] == {"aws:SourceArn": "arn:aws:s3:::mine"}
    assert storage.resource("Bucket")["BucketName"] == "mine"


@pytest.mark.parametrize("timeout", stack().parameters["Timeout"]["AllowedValues"])
def test_a_message_stays_hidden_for_six_timeouts(timeout: int) -> None:
    assert stack(Timeout=timeout).nested("Storage").resource("Queue")["VisibilityTimeout"] == 6 * timeout


def test_messages_that_were_given_up_outlive_those_in_the_queue() -> None:
    storage = stack().nested("Storage")
    given_up, queued = (storage.resource(name)["MessageRetentionPeriod"] for name in ("DeadLetterQueue", "Queue"))
    assert given_up > queued


def test_the_event_source_reads_the_answer_that_the_function_gives_to_a_queue() -> None:
    assert stack().resource("QueueSource")["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert Queue(sqs(notification("a.jpg"))).answer([]).keys() == {"batchItemFailures"}


def test_provisioned_concurrency_is_refused_above_the_reserved_one() -> None:
    parameters = stack().parameters
    both = [parameters[name]["AllowedValues"] for name in ("ProvisionedConcurrency", "ReservedConcurrency")]
    for provisioned, reserved in product(*both):
        fits = reserved == "NONE" or int(provisioned) <= int(reserved)
        assert stack(ProvisionedConcurrency=provisioned, ReservedConcurrency=reserved).is_allowed() == fits
