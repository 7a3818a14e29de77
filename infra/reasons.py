"""Why an object of a bucket is not to be converted: the handler's own rules, and what somebody asked for.

Names that are no picture's stay in: the function goes by content. `--suffix` is for those who know better.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infra.aws import Address

if TYPE_CHECKING:
    from handler.settings import Settings

ARCHIVES = ("GLACIER", "DEEP_ARCHIVE")  # no GET before a restore; Glacier Instant Retrieval is none of them
# Codes as in the function's log, where it has one, and what people read.
REASONS = {
    "output": "lie where pictures go",
    "folder": "stand for folders",
    "empty_image": "have no bytes",
    "payload_too_large": "are over MAX_INPUT_BYTES",
    "source_archived": "are archived and not restored",
    "suffix": "have another suffix",
    "converted": "have a picture that is newer",
}

Listed = Mapping[str, Any]  # an entry of list_objects_v2


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which objects somebody wants. `style` is that of the pictures that `unless_converted` looks for."""

    suffixes: tuple[str, ...] = ()
    unless_converted: bool = False
    style: str | None = None


def entries(s3: Any, place: Address) -> Iterator[Listed]:
    """Every object below `place`, in S3's order, a page in memory at a time."""
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=place.bucket, Prefix=place.key, OptionalObjectAttributes=["RestoreStatus"]
    )
    for page in pages:
        yield from page.get("Contents", ())


class Reasons:
    """Why an object is not to be converted, as a key of REASONS, or None."""

    def __init__(self, s3: Any, source: Address, settings: Settings, chosen: Chosen) -> None:
        self._bucket, self._settings, self._chosen = source.bucket, settings, chosen
        target = Address(settings.output_bucket or source.bucket, settings.output_prefix + source.key)
        self._pictures = _pictures(s3, target) if chosen.unless_converted else None

    def __call__(self, entry: Listed) -> str | None:
        from handler.objects import Head, S3Object
        from handler.plan import is_output, is_placeholder

        source = S3Object(self._bucket, entry["Key"])
        head = Head(entry["ETag"], entry["Size"], None, entry["LastModified"], {})
        if is_output(source, self._settings):
            return "output"
        if is_placeholder(source, head):
            return "folder"
        if self._chosen.suffixes and not source.key.lower().endswith(self._chosen.suffixes):
            return "suffix"
        return _refused(head, self._settings) or _archived(entry) or self._converted(entry)

    def _converted(self, entry: Listed) -> str | None:
        """Only a newer picture counts. What metadata decide (an own style or format), the function sees itself."""
        if not self._pictures:
            return None
        found = self._pictures.execute("SELECT modified FROM pictures WHERE key = ?", [self._name(entry["Key"])])
        newer = [at for (at,) in found if at > entry["LastModified"].timestamp()]
        return "converted" if newer else None

    def _name(self, key: str) -> str:
        from handler.naming import format_of, output_key

        fixed, style = self._settings.output_format, self._chosen.style or self._settings.style
        return output_key(self._settings.output_prefix, key, style, format_of(key) if fixed == "auto" else fixed)


def _refused(head: Any, settings: Settings) -> str | None:
    from handler.errors import ConversionError
    from handler.plan import check

    try:
        check(head, settings)
    except ConversionError as error:
        return error.code
    return None


def _archived(entry: Listed) -> str | None:
    restored = "RestoreExpiryDate" in entry.get("RestoreStatus", {})
    return "source_archived" if entry.get("StorageClass") in ARCHIVES and not restored else None


def _pictures(s3: Any, target: Address) -> sqlite3.Connection:
    """Key and time of every picture there is, in a temporary file: one listing instead of a HEAD per photo."""
    database = sqlite3.connect("")  # an empty name is a private file, deleted when it is closed
    database.execute("CREATE TABLE pictures (key TEXT PRIMARY KEY, modified REAL) WITHOUT ROWID")
    rows = ((entry["Key"], entry["LastModified"].timestamp()) for entry in entries(s3, target))
    database.executemany("INSERT INTO pictures VALUES (?, ?)", rows)
    return database
