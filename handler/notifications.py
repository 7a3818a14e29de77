"""Messages about S3 objects -> S3Objects, however they are wrapped: S3's own notifications, EventBridge events,
and either of them in a message of SNS.

Parsed by hand and not with Powertools' data classes, whose EventBridge `key` decodes what is not encoded, and
whose notification `key` leaves encoded what is. Here each key is decoded exactly once, where its source encodes
it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote_plus

from handler.errors import UnreadableEvent
from handler.objects import Found, Ignored, S3Object

SHOWN = 80  # characters of what could not be read that an error repeats
TEST_EVENT = Ignored("s3:TestEvent, which S3 sends when notifications are set up")


def from_text(text: Any) -> Iterator[Found]:
    """The body of a message of SQS or SNS."""
    try:
        yield from from_message(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        yield UnreadableEvent(f"The message is no JSON: {str(text)[:SHOWN]!r}.")


def from_message(message: Any) -> Iterator[Found]:
    """A notification, an EventBridge event, or one of them in SNS's own JSON."""
    if not isinstance(message, Mapping):
        yield UnreadableEvent(f"The message is no JSON object: {str(message)[:SHOWN]!r}.")
    elif is_test_event(message):
        yield TEST_EVENT
    elif is_eventbridge(message):
        yield from_eventbridge(message)
    elif isinstance(records := message.get("Records"), list) and records:
        yield from map(from_record, records)
    elif message.get("Type") == "Notification" and "Message" in message:
        yield from from_text(message["Message"])
    else:
        yield UnreadableEvent(f"The message has the keys {sorted(map(str, message))[:12]}; none is of S3.")


def is_test_event(message: Mapping[str, Any]) -> bool:
    return message.get("Event") == "s3:TestEvent"


def is_eventbridge(message: Mapping[str, Any]) -> bool:
    return message.get("source") == "aws.s3" and "detail-type" in message


def from_record(record: Any) -> Found:
    """One record of an S3 notification, whose key is URL-encoded with + for space."""
    try:
        if record["eventSource"] != "aws:s3":
            return UnreadableEvent(f"A record of {record['eventSource']!r} names no S3 object.")
        bucket, said = record["s3"]["bucket"]["name"], record["s3"]["object"]
        found = S3Object(
            text(bucket),
            text(unquote_plus(said["key"])),
            optional(said.get("versionId")),
            said.get("eTag"),
            said.get("size"),
        )
        name = str(record["eventName"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return UnreadableEvent(f"An S3 record lacks something ({error!r}).")
    created = name.removeprefix("s3:").startswith("ObjectCreated:")
    return found if created else Ignored(f"{name} is no creation", found)


def from_eventbridge(event: Mapping[str, Any]) -> Found:
    """An event of S3 through EventBridge, whose key is not encoded: a plus is a plus."""
    try:
        detail = event["detail"]
        said = detail["object"]
        found = S3Object(
            text(detail["bucket"]["name"]),
            text(said["key"]),
            optional(said.get("version-id")),
            said.get("etag"),
            said.get("size"),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return UnreadableEvent(f"An EventBridge event of S3 lacks something ({error!r}).")
    name = event["detail-type"]
    return found if name == "Object Created" else Ignored(f"{name} is no creation", found)


def text(value: Any) -> str:
    """Raises ValueError for what cannot be a bucket, a key or a version."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is no name")
    value.encode()  # raises UnicodeEncodeError, a ValueError, for half of a surrogate pair
    return value


def optional(value: Any) -> str | None:
    """A version, or None where there is none. Raises ValueError for what cannot be one."""
    return text(value) if value else None
