"""There is a ready event for everything that calls the function."""

from __future__ import annotations

import json
from typing import Any

from handler.envelopes import ENVELOPES, envelope
from handler.events import HTTP, http_source, is_warm_up
from tests.infra.conftest import EVENTS

Event = dict[str, Any]
READY: dict[str, Event] = {path.stem: json.loads(path.read_text()) for path in EVENTS.glob("*.json")}


def inner(event: Event) -> str:
    """What a message of SNS or SQS carries, by its own envelope; nothing where there is none."""
    record = event["Records"][0]
    text = record.get("body") or record.get("Sns", {}).get("Message")
    carried = json.loads(text) if text else {}
    return "sns" if carried.get("Type") == "Notification" else type(envelope(carried)).__name__


def test_every_event_is_one_that_the_function_answers() -> None:
    for name, event in READY.items():
        assert http_source(event) or is_warm_up(event) or envelope(event), name


def test_every_source_of_requests_and_every_envelope_has_one() -> None:
    assert {http_source(event) for event in READY.values()} - {None} == set(HTTP)
    others = [event for event in READY.values() if not http_source(event) and not is_warm_up(event)]
    assert {type(envelope(event)) for event in others} == set(ENVELOPES)
    assert any(event.get("detail-type") == "Scheduled Event" for event in READY.values())


def test_queues_and_topics_have_one_for_all_that_they_carry() -> None:
    queued = {inner(event) for name, event in READY.items() if name.endswith("sqs")}
    assert queued == {"Notification", "EventBridge", "sns"}
    assert inner(READY["s3_sns"]) == "Notification"


def test_jobs_have_one_for_both_schemas_and_both_shapes() -> None:
    assert {READY[f"s3_batch_v{n}"]["invocationSchemaVersion"] for n in (1, 2)} == {"1.0", "2.0"}
    assert "Items" in READY["s3_map_batch"]
    assert "Key" in READY["s3_map_item"]
