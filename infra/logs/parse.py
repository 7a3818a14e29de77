"""From the bytes of a line to a typed line of ours, or the reason why not."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from infra.logs.line import EVENTS, Line

WRAPPINGS = ("message", "@message", "record", "log", "MESSAGE")  # Lambda, Insights, telemetry, Docker, journald
DEPTH = 3  # envelopes within envelopes; Lambda's within Insights' is two
METRICS = {f.encode_name for f in msgspec.structs.fields(Line) if f.encode_name[0].isupper()}
METRICS -= {"FunctionName", "Style", "Source"}

# 2026-11-30T14:24:44.123456+00:00 2026/11/30/[$LATEST]0a1b… {…   as `aws logs tail` writes it, in colour if asked
COLOURS = re.compile(rb"\x1b\[[0-9;]*m")
STAMP = rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[0-9.,:+Z-]*"
PREFIX = re.compile(rb"\s*" + STAMP + rb"[ \t]+(\S+)\s*")
# EVENTS, event id, ingestion time, stream, message   as `filter-log-events --output text` does.
EVENTS_PREFIX = re.compile(rb"EVENTS\t\d+\t\d+\t([^\t]+)\t")

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_line = msgspec.json.Decoder(Line)
_any = msgspec.json.Decoder()


class Foreign(Exception):
    """A line of some other program."""


class Broken(Exception):
    """A line of ours that is damaged."""


def parse(data: bytes, depth: int = 0) -> Line:
    """Raises Foreign, Broken. Whatever stands before the first brace or after the last one does not matter."""
    try:
        line = _line.decode(data) if data[:1] == b"{" else _within(data, depth)
    except UNREADABLE:
        line = _within(data, depth)
    if line.event == "conversion" and line.duration.value is None:
        raise Broken
    return line


def stream_before(data: bytes) -> str | None:
    """The stream's name, where one stands before the line."""
    start = data.find(b"{")
    if start <= 0:
        return None
    before = COLOURS.sub(b"", data[:start])
    named = PREFIX.fullmatch(before) or EVENTS_PREFIX.fullmatch(before)
    return named[1].decode(errors="replace") if named else None


def _within(data: bytes, depth: int) -> Line:
    if b"_aws" not in data or (start := data.find(b"{")) < 0:
        raise Foreign
    text = data[start : data.rfind(b"}") + 1]
    try:
        return _line.decode(text)
    except msgspec.ValidationError:
        return _reshaped(_decoded(text), depth)
    except UNREADABLE:
        return _behind(data, start)


def _behind(data: bytes, start: int) -> Line:
    """The line behind a prefix with a brace in it, if that is what keeps it from being read."""
    again = data.find(b'{"_aws"', start + 1)
    if again < 0:
        raise _unread(data)
    try:
        return _line.decode(data[again : data.rfind(b"}") + 1])
    except UNREADABLE as error:
        raise Broken from error


def _decoded(text: bytes) -> Any:
    """JSON of any shape; what no decoder takes can have failed for its shape first."""
    try:
        return _any.decode(text)
    except UNREADABLE as error:
        raise _unread(text) from error


def _unread(data: bytes) -> Foreign | Broken:
    return Broken() if b'"_aws"' in data or b'\\"_aws\\"' in data else Foreign()


def _reshaped(said: Any, depth: int) -> Line:
    """A line in an envelope, or with its metrics as numbers where ours are lists of one."""
    if not isinstance(said, dict):
        raise Foreign
    if "_aws" not in said:
        return _unwrapped(said, depth)
    if said.get("event") not in EVENTS:
        raise Foreign
    lists = {
        key: [value] if key in METRICS and isinstance(value, int | float) else value for key, value in said.items()
    }
    try:
        return msgspec.convert(lists, Line)
    except msgspec.ValidationError as error:
        raise Broken from error


def _unwrapped(said: dict[str, Any], depth: int) -> Line:
    inner = next((said[key] for key in WRAPPINGS if said.get(key)), None)
    if depth >= DEPTH or not isinstance(inner, str | dict):
        raise Foreign
    if isinstance(inner, str):
        line = parse(inner.encode(errors="replace"), depth + 1)
    else:
        line = _reshaped(inner, depth + 1)
    stream = said.get("logStreamName") or said.get("@logStream")
    if line.environment is None and isinstance(stream, str):
        return msgspec.structs.replace(line, environment=stream)
    return line
