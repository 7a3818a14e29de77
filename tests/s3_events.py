"""S3 events in every envelope, made by hand from AWS's documentation; keys are given as they are in S3."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, quote_plus

Event = dict[str, Any]

TEST_EVENT = {"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2026-01-01T00:00:00Z", "Bucket": "photos"}


def record(key: str, bucket: str = "photos", name: str = "ObjectCreated:Put", version: str | None = None) -> Event:
    """One record of an S3 notification, its key form-encoded as S3 does."""
    said: Event = {"key": quote_plus(key, safe="/"), "size": 1024, "eTag": "d41d8cd9", "sequencer": "0A1B2C"}
    if version:
        said["versionId"] = version
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventName": name,
        "s3": {"bucket": {"name": bucket, "arn": f"arn:aws:s3:::{bucket}"}, "object": said},
    }


def notification(*keys: str, **more: Any) -> Event:
    return {"Records": [record(key, **more) for key in keys]}


def eventbridge(
    key: str, bucket: str = "photos", name: str = "Object Created", version: str | None = None
) -> Event:
    said: Event = {"key": key, "size": 1024, "etag": "d41d8cd9", "sequencer": "0A1B2C"}
    if version:
        said["version-id"] = version
    detail = {"version": "0", "bucket": {"name": bucket}, "object": said, "reason": "PutObject"}
    return {"version": "0", "source": "aws.s3", "detail-type": name, "detail": detail}


def sns(message: Any) -> Event:
    text = message if isinstance(message, str) else json.dumps(message)
    return {"Records": [{"EventSource": "aws:sns", "EventVersion": "1.0", "Sns": {"Message": text}}]}


def in_sns(message: Any) -> Event:
    """What SNS puts into a queue, without raw message delivery."""
    return {"Type": "Notification", "MessageId": "m", "TopicArn": "arn:t", "Message": json.dumps(message)}


def sqs(*bodies: Any) -> Event:
    """Messages m0, m1, …; what is no text is sent as JSON."""
    texts = [body if isinstance(body, str) else json.dumps(body) for body in bodies]
    return {
        "Records": [
            {"messageId": f"m{place}", "body": body, "eventSource": "aws:sqs", "attributes": {}}
            for place, body in enumerate(texts)
        ]
    }


def batch(*keys: str, schema: str = "2.0", bucket: str = "photos", version: str | None = None) -> Event:
    """An invocation of S3 Batch Operations; tasks t0, t1, …"""
    where = {"s3Bucket": bucket} if schema == "2.0" else {"s3BucketArn": f"arn:aws:s3:::{bucket}"}
    tasks = [
        {"taskId": f"t{place}", "s3Key": quote(key).replace("%20", "+"), "s3VersionId": version, **where}
        for place, key in enumerate(keys)
    ]
    return {"invocationSchemaVersion": schema, "invocationId": "i", "job": {"id": "j"}, "tasks": tasks}


def listed(key: str) -> Event:
    """An item as the Distributed Map's listObjectsV2 reader makes it."""
    return {"Etag": '"d41d8cd9"', "Key": key, "LastModified": 1671425036, "Size": 1024, "StorageClass": "STANDARD"}


def batcher(*keys: str, bucket: str | None = "photos", **more: Any) -> Event:
    event: Event = {"Items": [listed(key) for key in keys]}
    return {**event, "BatchInput": {"bucket": bucket, **more}} if bucket else event
