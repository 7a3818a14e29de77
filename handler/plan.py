"""What to make of an S3 object: whether, with which parameters, and under which key. Nothing here talks to S3."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from handler import __version__
from handler.bodies import Parameters, validated
from handler.convert import ConversionRequest
from handler.errors import EmptyImage, InvalidParameter, PayloadTooLarge, UnknownStyle
from handler.generator import Manifest
from handler.naming import format_of, output_key
from handler.objects import Head, S3Object
from handler.settings import UPLOADS, Settings

MARKER = ("animegan", "converted")  # on every picture of ours, wherever it is copied to
OPTIONS = "animegan-options"  # metadata of a photo: parameters of POST /convert as JSON
SAME = ("source-etag", "source-version", "settings")  # a picture with the same of these need not be made again
DIGITS = 16  # of a digest that tells settings apart, not one that keeps secrets


@dataclass(frozen=True, slots=True)
class Plan:
    """`key` is the picture's, `metadata` too."""

    bucket: str
    key: str
    wanted: Parameters
    metadata: dict[str, str]

    def request(self, data: bytes) -> ConversionRequest:
        """The photo's bytes and what is wanted of it."""
        return ConversionRequest(data, **self.wanted.model_dump(exclude={"face"}))

    def is_made(self, picture: Head) -> bool:
        """Whether a picture is the one that this plan would make."""
        return all(picture.metadata.get(name) == self.metadata[name] for name in SAME)

    def is_anothers(self, picture: Head) -> bool:
        """Whether a picture is of a photo with the same key in another bucket."""
        ours = self.metadata["source-bucket"]
        return picture.metadata.get("source-bucket", ours) != ours

    def is_superseded(self, picture: Head) -> bool:
        """Whether a picture is of a newer version: events come late, and in any order."""
        return picture.metadata.get("source-modified", "") > self.metadata["source-modified"]


def output_bucket(source: S3Object, settings: Settings) -> str:
    return settings.output_bucket or source.bucket


def is_output(source: S3Object, settings: Settings) -> bool:
    """Whether a key is where pictures go, so that none is ever made of them."""
    return source.bucket == output_bucket(source, settings) and source.key.startswith(settings.output_prefix)


def is_upload(source: S3Object, settings: Settings) -> bool:
    """Whether somebody waits for it at GET /uploads/{id}."""
    return source.bucket == settings.upload_bucket and source.key.startswith(UPLOADS)


def is_placeholder(source: S3Object, head: Head) -> bool:
    """Whether it only stands for a folder, as consoles make them."""
    return not head.size and source.key.endswith("/")


def check(head: Head, settings: Settings) -> None:
    """Raises EmptyImage and PayloadTooLarge."""
    if not head.size:
        raise EmptyImage("The object has no bytes.")
    if head.size > settings.max_input_bytes:
        raise PayloadTooLarge(
            f"The object has {head.size:,} bytes; at most {settings.max_input_bytes:,} are taken here."
        )


def plan(source: S3Object, head: Head, settings: Settings, styles: Mapping[str, Manifest]) -> Plan:
    """Raises InvalidParameter and UnknownStyle."""
    wanted = _wanted(source, head, settings)
    style, format = wanted.style or settings.style, wanted.format or format_of(source.key)
    if style not in styles:
        raise UnknownStyle(f"There is no style {style!r} here; there is {', '.join(styles)}.")
    wanted = wanted.model_copy(update={"style": style, "format": format})
    metadata = {
        **dict([MARKER]),
        "animegan-version": __version__,
        "style": style,
        "settings": _digest(wanted, styles[style], settings.max_side),
        "source-bucket": source.bucket,
        "source-etag": head.etag.strip('"'),
        "source-version": head.version_id or "",
        "source-modified": head.modified.astimezone(UTC).isoformat(),
    }
    key = output_key(settings.output_prefix, source.key, style, format)
    return Plan(output_bucket(source, settings), key, wanted, metadata)


def _wanted(source: S3Object, head: Head, settings: Settings) -> Parameters:
    """Whoever planned the job has the last word, then the object's own metadata, then the settings."""
    try:
        own: Any = json.loads(head.metadata.get(OPTIONS) or "{}")
    except ValueError:
        own = None
    if not isinstance(own, dict):
        raise InvalidParameter(f"The object's metadata {OPTIONS} is no JSON object.")
    fixed = {} if settings.output_format == "auto" else {"format": settings.output_format}
    asked = {"style": source.style} if source.style else {}
    return validated({**fixed, **own, **asked})


def _digest(wanted: Parameters, style: Manifest, max_side: int) -> str:
    """What decides how a picture looks. Precision does not, to the eye, and differs from machine to machine."""
    said = json.dumps([wanted.model_dump(), style.digest, max_side])
    return hashlib.sha256(said.encode()).hexdigest()[:DIGITS]
