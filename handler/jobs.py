"""Envelopes of work that somebody planned: S3 Batch Operations and Step Functions' Distributed Map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import unquote_plus

from handler.errors import UnreadableEvent
from handler.notifications import optional, text
from handler.objects import Found, Item, Outcome, S3Object, numbered, raise_unfinished
from handler.text import encodable

Event = Mapping[str, Any]
RESULT_CHARACTERS = 1000  # of a result in the job's completion report


class BatchOperations:
    """S3 Batch Operations, invocation schema 1.0 (bucket as an ARN) and 2.0 (as a name, with user arguments)."""

    source: ClassVar[str] = "s3-batch"

    @classmethod
    def infer(cls, event: Event) -> bool:
        return "invocationSchemaVersion" in event and isinstance(event.get("tasks"), list)

    def __init__(self, event: Event) -> None:
        self._version, self._id = (
            _echoed(event.get(name)) for name in ("invocationSchemaVersion", "invocationId")
        )
        style = ((event.get("job") or {}).get("userArguments") or {}).get("style")
        self.items = [Item(encodable(str(task.get("taskId"))), _task(task, style)) for task in event["tasks"]]

    def answer(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """One result per task. A key missing from it would be a defect of ours, so it is to be tried again."""
        return {
            "invocationSchemaVersion": self._version,
            "treatMissingKeysAs": "TemporaryFailure",
            "invocationId": self._id,
            "results": [_result(outcome) for outcome in outcomes],
        }


class DistributedMap:
    """Step Functions' Distributed Map: one item, or an ItemBatcher's `Items`, with or without `BatchInput`.

    Items are S3's own listing (Key, Etag, Size) or rows of a CSV file (bucket, key). Nothing here is encoded. The
    bucket of a listing comes from BatchInput, or ItemSelector, or is SOURCE_BUCKET.
    """

    source: ClassVar[str] = "step-functions"

    @classmethod
    def infer(cls, event: Event) -> bool:
        return isinstance(event.get("Items"), list) or isinstance(_either(event, "key"), str)

    def __init__(self, event: Event) -> None:
        self._single = not isinstance(event.get("Items"), list)
        common = event.get("BatchInput")
        common = common if isinstance(common, Mapping) else {}
        self.items = numbered(_map_item(item, common) for item in ([event] if self._single else event["Items"]))

    def answer(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """A result per item; a state's Retry needs an exception."""
        raise_unfinished(outcomes)
        results = [outcome.as_json() for outcome in outcomes]
        return results[0] if self._single else {"results": results}


def _echoed(value: Any) -> Any:
    return encodable(value) if isinstance(value, str) else value


def _task(task: Mapping[str, Any], style: Any) -> Found:
    try:
        # arn:aws:s3:::bucket; an access point's ARN has no ::: and is itself a bucket's name to S3.
        bucket = task.get("s3Bucket") or text(task.get("s3BucketArn")).rpartition(":::")[2]
        key = unquote_plus(text(task.get("s3Key")))
        return S3Object(text(bucket), key, optional(task.get("s3VersionId")), style=style)
    except ValueError as error:
        return UnreadableEvent(f"A task of the job names no object ({error}).")


def _result(outcome: Outcome) -> dict[str, str]:
    code = "TemporaryFailure" if outcome.again else "PermanentFailure" if outcome.error else "Succeeded"
    said = f"{outcome.error.code}: {outcome.error}" if outcome.error else outcome.output or outcome.reason
    return {"taskId": outcome.item.id, "resultCode": code, "resultString": said[:RESULT_CHARACTERS]}


def _map_item(item: Any, common: Mapping[str, Any]) -> Found:
    try:
        bucket = optional(_either(item, "bucket") or _either(common, "bucket"))
        style = _either(item, "style") or _either(common, "style")
        version, etag = optional(_either(item, "versionId")), _either(item, "etag")
        return S3Object(bucket or "", text(_either(item, "key")), version, etag, style=style)
    except (ValueError, AttributeError) as error:
        return UnreadableEvent(f"An item of the map names no object ({error}).")


def _either(item: Mapping[str, Any], name: str) -> Any:
    """Under `name`, or `Name` as S3's listings have it."""
    return item.get(name) or item.get(name[0].upper() + name[1:])
