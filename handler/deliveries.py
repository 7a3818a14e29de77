"""Envelopes of what has happened in S3: its notifications, SNS, EventBridge, SQS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from handler.notifications import (
    TEST_EVENT,
    from_eventbridge,
    from_record,
    from_text,
    is_eventbridge,
    is_test_event,
)
from handler.objects import Found, Item, Outcome, numbered, raise_unfinished
from handler.text import encodable

Event = Mapping[str, Any]


class Direct:
    """Envelopes that Lambda invokes with asynchronously: nobody reads the answer, but an exception is retried."""

    source: ClassVar[str] = "s3"

    def __init__(self, event: Event) -> None:
        self.items = numbered(self.found(event))

    @classmethod
    def found(cls, event: Event) -> Iterable[Found]:
        raise NotImplementedError

    def answer(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        raise_unfinished(outcomes)
        counts = Counter[str](outcome.status for outcome in outcomes)
        return {**counts, "objects": [outcome.as_json() for outcome in outcomes]}


class Notification(Direct):
    """S3 invokes the function itself; several records are possible."""

    @classmethod
    def infer(cls, event: Event) -> bool:
        return _are_records(event, "eventSource", "aws:s3")

    @classmethod
    def found(cls, event: Event) -> Iterable[Found]:
        return map(from_record, event["Records"])


class Topic(Direct):
    """SNS, with a notification or an EventBridge event as the text of its message."""

    source = "sns"

    @classmethod
    def infer(cls, event: Event) -> bool:
        return _are_records(event, "EventSource", "aws:sns")

    @classmethod
    def found(cls, event: Event) -> Iterable[Found]:
        for record in event["Records"]:
            yield from from_text((record.get("Sns") or {}).get("Message"))


class EventBridge(Direct):
    """A rule on S3's events."""

    source = "eventbridge"

    @classmethod
    def infer(cls, event: Event) -> bool:
        return is_eventbridge(event)

    @classmethod
    def found(cls, event: Event) -> Iterable[Found]:
        return [from_eventbridge(event)]


class TestEvent(Direct):
    """What S3 sends once, when notifications are set up."""

    __test__ = False  # for pytest, which collects classes of this name

    @classmethod
    def infer(cls, event: Event) -> bool:
        return is_test_event(event)

    @classmethod
    def found(cls, event: Event) -> Iterable[Found]:
        return [TEST_EVENT]


class Queue:
    """SQS, with any of these in a message: a notification, an EventBridge event, either of them in SNS's JSON.

    The answer is one line, so it is ours: Powertools' batch processor runs the loop itself, knows only done or
    raised, and can neither stop in time nor serve the other envelopes.
    """

    source: ClassVar[str] = "sqs"

    @classmethod
    def infer(cls, event: Event) -> bool:
        return _are_records(event, "eventSource", "aws:sqs")

    def __init__(self, event: Event) -> None:
        self.items = [
            Item(encodable(str(message.get("messageId"))), found)
            for message in event["Records"]
            for found in from_text(message.get("body"))
        ]

    def answer(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """Partial batch failures. A message that names no object goes back too, and so into the dead-letter queue:
        nothing else would ever show it to anybody."""
        back = (o.item.id for o in outcomes if o.again or (o.error and o.error.code == "unreadable_event"))
        return {"batchItemFailures": [{"itemIdentifier": id} for id in dict.fromkeys(back)]}


def _are_records(event: Event, name: str, service: str) -> bool:
    """Whether these are the records of a service; an event has them of one only."""
    records = event.get("Records")
    first = records[0] if isinstance(records, list) and records else None
    return isinstance(first, Mapping) and first.get(name) == service
