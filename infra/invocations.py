"""Events from files, and what is to be had from the answers to them."""

from __future__ import annotations

import base64
import binascii
import json
import sys
from typing import Any

from infra.emulator import Invocation
from infra.errors import BadEvent
from infra.text import explained, shown

SHOWN = 80  # characters of a string that a terminal gets to see


def read_event(name: str) -> Any:
    """The event in a file, or on stdin for `-`. Raises BadEvent."""
    try:
        if name == "-":
            return json.loads(sys.stdin.buffer.read())
        with open(name, "rb") as file:
            return json.loads(file.read())
    except OSError as error:
        raise BadEvent(explained(error)) from error
    except (ValueError, RecursionError) as error:
        raise BadEvent(f"{shown(name)} is no event: not JSON ({error})") from error


def failed(done: Invocation) -> bool:
    """True on a function error, and on an HTTP answer with a status of 400 or more."""
    status = done.payload.get("statusCode") if isinstance(done.payload, dict) else None
    return done.function_error or (isinstance(status, int) and status >= 400)


def picture(payload: Any) -> bytes | None:
    """The picture of an answer: its base64 body, or `image` in its JSON body."""
    try:
        if payload["isBase64Encoded"]:
            return base64.b64decode(payload["body"]) if _type(payload).startswith("image/") else None
        return base64.b64decode(json.loads(payload["body"])["image"])
    except (KeyError, TypeError, ValueError, binascii.Error):
        return None


def shortened(value: Any) -> Any:
    """The same with long strings cut, for a terminal."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shortened(item) for item in value]
    if isinstance(value, str) and len(value) > 2 * SHOWN:
        return f"{value[:SHOWN]}… ({len(value):,} characters)"
    return value


def _type(payload: Any) -> str:
    single = payload.get("headers") or {}
    multiple = {name: values[0] for name, values in (payload.get("multiValueHeaders") or {}).items() if values}
    headers = {name.lower(): value for name, value in {**multiple, **single}.items()}
    return str(headers.get("content-type", ""))
