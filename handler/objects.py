"""What an S3 event is about, and what became of it: the types between envelopes and conversions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from handler.errors import ConversionError, Unfinished
from handler.text import encodable

REPEATED = 3  # failures that an exception names

Status = Literal["converted", "skipped", "ignored", "failed", "unprocessed"]


@dataclass(frozen=True, slots=True)
class S3Object:
    """One object (version) to convert. `key` is as S3 has it: whatever the envelope encoded is decoded."""

    bucket: str
    key: str
    version_id: str | None = None
    etag: str | None = None
    size: int | None = None
    style: Any = None  # where a job or a state machine names one; `plan` refuses what is no name

    def __str__(self) -> str:
        version = f" (version {self.version_id})" if self.version_id else ""
        return f"s3://{self.bucket}/{self.key}{version}"


@dataclass(frozen=True, slots=True)
class Head:
    """What S3 says of an object without sending it. `metadata` is the user's, names in lower case."""

    etag: str
    size: int
    version_id: str | None
    modified: datetime
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ignored:
    """Part of an event that is not for us, such as a deletion or S3's test message."""

    reason: str
    object: S3Object | None = None


Found = S3Object | Ignored | ConversionError


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of an envelope. `id` is the envelope's own: a message's, a task's, or its place."""

    id: str
    found: Found


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an item. `reason` is why it was not converted, `error` what failed."""

    item: Item
    status: Status
    reason: str = ""
    output: str | None = None  # the key of the picture
    error: ConversionError | None = None

    @property
    def again(self) -> bool:
        """Whether it has to be tried again: left for lack of time, or failed for now."""
        return self.status == "unprocessed" or (self.error is not None and self.error.transient)

    def as_json(self) -> dict[str, Any]:
        """For the answers that people and state machines read."""
        found = self.item.found.object if isinstance(self.item.found, Ignored) else self.item.found
        said: dict[str, Any] = {"status": self.status}
        if isinstance(found, S3Object):
            said |= {"bucket": found.bucket, "key": found.key, "versionId": found.version_id}
        said |= {"output": self.output, "reason": self.reason or (self.error and str(self.error)) or None}
        said |= {"code": self.error.code} if self.error else {}
        return {name: value for name, value in said.items() if value is not None}


class Leave(Exception):
    """An object needs no conversion, and why."""

    def __init__(self, status: Status, reason: str, output: str | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.output = status, encodable(reason), output


def numbered(found: Iterable[Found]) -> list[Item]:
    return [Item(str(place), one) for place, one in enumerate(found)]


def raise_unfinished(outcomes: Sequence[Outcome]) -> None:
    """Raises Unfinished, naming the first few, if anything has to be tried again."""
    left = [outcome for outcome in outcomes if outcome.again]
    if left:
        named = "; ".join(f"{one.item.found}: {one.error or one.reason}" for one in left[:REPEATED])
        raise Unfinished(f"{len(left)} of {len(outcomes)} objects have to be tried again: {named}")
