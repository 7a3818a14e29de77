"""What S3 events come in: a class per envelope, which finds the objects in it and answers in its own format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from handler.deliveries import EventBridge, Notification, Queue, TestEvent, Topic
from handler.errors import UnknownEvent
from handler.jobs import BatchOperations, DistributedMap
from handler.objects import Item, Outcome

Event = Mapping[str, Any]


class Envelope(Protocol):
    """One kind of event that brings S3 objects. `items` are in its order, and so are the outcomes."""

    source: ClassVar[str]

    @classmethod
    def infer(cls, event: Event) -> bool: ...

    def __init__(self, event: Event) -> None: ...

    @property
    def items(self) -> Sequence[Item]: ...

    def answer(self, outcomes: Sequence[Outcome]) -> dict[str, Any]:
        """Raises Unfinished where that is the envelope's only way to have something tried again."""


ENVELOPES: tuple[type[Envelope], ...] = (
    TestEvent,
    Notification,
    Queue,
    Topic,
    EventBridge,
    BatchOperations,
    DistributedMap,
)


def envelope(event: Event) -> Envelope | None:
    """The S3 envelope that an event is, or None. Raises UnknownEvent where it has no such envelope's form."""
    kind = next((kind for kind in ENVELOPES if kind.infer(event)), None)
    if kind is None:
        return None
    try:
        return kind(event)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UnknownEvent(f"The {kind.source} event is malformed ({error!r}).") from error
