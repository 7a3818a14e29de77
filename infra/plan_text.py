"""A backfill's plan for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from infra.estimate import PRICES_OF
from infra.reasons import REASONS
from infra.text import shown


def as_text(said: dict[str, Any]) -> str:
    """What s3_commands.py says as JSON, as a table, the call, and what comes next."""
    rows = [*_objects(said), *_estimate(said)]
    width = max(len(name) for name, _ in rows)
    table = "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
    return f"{table}\n\n{_notes(said)}\n\n{_call(said)}\n\n{_next(said)}"


def _objects(said: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "bucket", shown(said["source"])
    yield "to convert", f"{said['objects']:,} objects, {said['bytes']:,} bytes"
    for code, number in sorted(said["left"].items()):
        yield "left out", f"{number:,} that {REASONS[code]} [{code}]"


def _estimate(said: dict[str, Any]) -> Iterator[tuple[str, str]]:
    terms, cost = said["terms"], said["estimate"]
    yield "per picture", f"{terms['seconds']:.2f} s at {terms['memory_mb']:,} MB ({terms['origin']})"
    yield "Lambda", f"{cost['gb_seconds']:,.1f} GB-s, {cost['invocations']:,} calls: {_usd(cost['lambda_usd'])}"
    yield "S3", f"{cost['puts']:,} PUT, {cost['gets']:,} GET and HEAD: {_usd(cost['s3_usd'])}"
    if terms["batch"]:
        yield "S3 Batch Operations", _usd(cost["batch_usd"])
    yield "cost", _usd(cost["usd"])
    yield "time", f"{_time(cost['duration_s'])} with {terms['concurrency']:,} at a time"


def _notes(said: dict[str, Any]) -> str:
    own = "" if said["terms"]["batch"] else " The state machine's own price is not in it."
    return (
        f"An estimate, with prices of {PRICES_OF}; they vary by region.\n"
        f"Cold starts, retries, storage and transfer are not in it.{own}"
    )


def _call(said: dict[str, Any]) -> str:
    call = said["call"]
    verb = "made" if said["started"] else "that --start makes"
    upload = f"manifest: {shown(said['manifest'])}\n" if "manifest" in said else ""
    parameters = json.dumps(call["parameters"], indent=2)
    return f"{upload}call {verb}: {call['service']}.{call['operation']} {parameters}"


def _next(said: dict[str, Any]) -> str:
    if not said["started"]:
        needed = f", with {' and '.join(said['missing'])}" if said["missing"] else ""
        return f"A dry run: nothing was written. --start starts it{needed}."
    ((name, value),) = said["started"].items()
    waits = said["call"]["parameters"].get("ConfirmationRequired")
    return f"Started: {name} {value}." + (" It waits for its confirmation in the S3 console." if waits else "")


def _usd(amount: float) -> str:
    return f"{amount:,.2f} USD" if amount >= 1 else f"{amount:.4f} USD"


def _time(seconds: float) -> str:
    return f"{timedelta(seconds=round(seconds))} h" if seconds >= 60 else f"{seconds:.1f} s"
