"""Whatever surrounds the lines, taken off: gives (stream, bytes of one message) for each message of a source.

lines       plain, `aws logs tail` in each format, `filter-log-events --output text`, exports to S3, `jq .`
documents   {"events": […]}, {"results": […]}, {"logEvents": […]}, […], however they are laid out
tables      the CSV that the console of Logs Insights exports
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import ijson
import msgspec

from infra.logs.parse import COLOURS, PREFIX, STAMP

Messages: TypeAlias = Iterator[tuple[str | None, bytes]]

LONGEST = 4 << 20  # CloudWatch takes events of up to 1 MB; a longer line is no line of a log
HEAD = 1 << 16
OPEN, CLOSE = b"{}"
# First keys of what the AWS CLI prints as JSON; ours start with _aws.
DOCUMENT = re.compile(
    rb'\s*(\[\s*[\[{]|\{\s*"(events|results|searchedLogStreams|next(Forward|Backward)?Token|queryLanguage|statistics'
    rb'|status|encryptionKey|messageType|owner|logGroup|logStream|subscriptionFilters|logEvents)")'
)
TABLE = re.compile(rb'(\xef\xbb\xbf)?[^\n{]*"?@message"?[,\r\n]')
ONLY_PREFIX = re.compile(rb"\s*" + STAMP + rb"[ \t]+\S+[ \t]*")
LISTS = ("events.item", "results.item", "logEvents.item", "item")


def messages(file: io.BufferedReader) -> Messages:
    """Raises what reading a damaged file raises, and ijson.JSONError at the end of a document that is cut off."""
    head = file.peek(HEAD)[:HEAD]
    if DOCUMENT.match(head):
        return documents(file)
    return tables(file) if TABLE.match(head) else lines(file)


def lines(file: io.BufferedReader) -> Messages:
    """One message a line; one that is spread over several, with a brace alone in the first, is put together."""
    before = waiting = b""
    while line := waiting or file.readline(LONGEST):
        waiting = b""
        if len(line) < 8 and line.rstrip() == b"{":
            message, waiting = _spread(file, line)
            yield None, before + message
        elif line.endswith(b" \n") and ONLY_PREFIX.fullmatch(COLOURS.sub(b"", line.rstrip(b"\n"))):
            before = line  # `aws logs tail --format json` puts time and stream alone on a line
            continue
        else:
            yield None, line
        before = b""


def _spread(file: io.BufferedReader, first: bytes) -> tuple[bytes, bytes]:
    """A JSON object whose braces stand at the start of lines, and the line that ends it without being in it."""
    parts, size = [first], 0
    while size < LONGEST and (line := file.readline(LONGEST)):
        if line[0] == OPEN or PREFIX.match(line):
            return b"".join(parts), line
        parts.append(line)
        size += len(line)
        if line[0] == CLOSE:
            break
    return b"".join(parts), b""


def documents(file: io.BufferedReader) -> Messages:
    """Items of the lists in one document or several, one at a time, so that the size of a file does not matter."""
    stream: str | None = None
    builder: Any = None
    level = ""
    for prefix, event, value in ijson.parse(file, multiple_values=True, use_float=True):
        if builder is not None:
            builder.event(event, value)
            if prefix == level and event in ("end_map", "end_array"):
                yield _message(builder.value, stream)
                builder = None
        elif prefix in LISTS and event in ("start_map", "start_array"):
            level, builder = prefix, ijson.ObjectBuilder()
            builder.event(event, value)
        elif prefix == "logStream":
            stream = value


def tables(file: io.BufferedReader) -> Messages:
    csv.field_size_limit(LONGEST)
    rows = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline=""))
    for row in rows:
        yield row.get("@logStream") or None, (row.get("@message") or "").encode()


def _message(item: Any, stream: str | None) -> tuple[str | None, bytes]:
    """An item as filter-log-events, Insights (API or console) or a subscription has it; or the line itself."""
    if isinstance(item, list):
        item = {pair.get("field"): pair.get("value") for pair in item if isinstance(pair, dict)}
    if not isinstance(item, dict):
        return None, b""
    stream = item.get("logStreamName") or item.get("@logStream") or stream
    said = item.get("message", item.get("@message", item))
    named = stream if isinstance(stream, str) else None
    return named, said.encode(errors="replace") if isinstance(said, str) else msgspec.json.encode(said)
