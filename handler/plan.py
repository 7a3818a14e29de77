"""What to make of an S3 object: whether, with which parameters, and under which key. Nothing here talks to S3."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC

from handler import __version__
from handler.bodies import Parameters
from handler.convert import ConversionRequest
from handler.errors import EmptyImage, PayloadTooLarge, UnknownStyle
from handler.generator import Manifest
from handler.naming import output_key
from handler.objects import Head, S3Object
from handler.settings import UPLOADS, Settings
from handler.wishes import Wish, wish

MARKER = ("animegan", "converted")  # on all that is ours, pictures and reports, wherever it is copied to
PHOTO = ("source-etag", "source-version")  # a picture with the same of these is of the same version of a photo
DIGITS = 16  # of a digest that tells settings apart, not one that keeps secrets


@dataclass(frozen=True, slots=True)
class Plan:
    """`bucket`, `key` and `metadata` are the picture's."""

    source: S3Object
    bucket: str
    key: str
    wanted: Parameters
    metadata: dict[str, str]

    def request(self, data: bytes) -> ConversionRequest:
        """The photo's bytes and what is wanted of it."""
        return ConversionRequest(data, **self.wanted.model_dump())

    def is_made(self, picture: Head) -> bool:
        """Whether a picture is the one that this plan would make."""
        return is_of(picture, self.metadata) and picture.metadata.get("settings") == self.metadata["settings"]

    def is_anothers(self, picture: Head) -> bool:
        """Whether a picture is of a photo with the same key in another bucket."""
        ours = self.metadata["source-bucket"]
        return picture.metadata.get("source-bucket", ours) != ours

    def is_superseded(self, picture: Head) -> bool:
        """Whether a picture is of a newer version: events come late, and in any order."""
        return picture.metadata.get("source-modified", "") > self.metadata["source-modified"]

    def is_tied(self, picture: Head) -> bool:
        """Whether a picture is of another version of the same second, which is all that S3's dates tell."""
        same_second = picture.metadata.get("source-modified") == self.metadata["source-modified"]
        return same_second and not is_of(picture, self.metadata)

    def is_of(self, photo: Head) -> bool:
        """Whether this plan is of that version of the photo."""
        found = origin(self.source, photo)
        return all(found[name] == self.metadata[name] for name in PHOTO)


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
    wanted = wish(source, head, settings)
    if wanted.style not in styles:
        raise UnknownStyle(f"There is no style {wanted.style!r} here; there is {', '.join(styles)}.")
    parameters = wanted.parameters.model_copy(update={"style": wanted.style, "format": wanted.format})
    metadata = {
        **dict([MARKER]),
        "animegan-version": __version__,
        "style": wanted.style,
        "settings": _digest(parameters, styles[wanted.style], settings.max_side),
        **origin(source, head),
    }
    target = place(source, wanted, settings)
    return Plan(source, target.bucket, target.key, parameters, metadata)


def place(source: S3Object, wanted: Wish, settings: Settings) -> S3Object:
    """Where the picture goes."""
    key = output_key(settings.output_prefix, source.key, wanted.style, wanted.format)
    return S3Object(output_bucket(source, settings), key)


def origin(source: S3Object, head: Head) -> dict[str, str]:
    """What a picture's metadata say of the photo that it was made of."""
    return {
        "source-bucket": source.bucket,
        "source-etag": head.etag.strip('"'),
        "source-version": head.version_id or "",
        "source-modified": head.modified.astimezone(UTC).isoformat(),
    }


def is_of(picture: Head, photo: Mapping[str, str]) -> bool:
    """Whether a picture was made of the version that `origin` describes, whatever the settings."""
    return all(picture.metadata.get(name) == photo[name] for name in PHOTO)


def _digest(wanted: Parameters, style: Manifest, max_side: int) -> str:
    """What decides how a picture looks. Precision does not, to the eye, and differs from machine to machine."""
    said = json.dumps([wanted.model_dump(), style.digest, max_side])
    return hashlib.sha256(said.encode()).hexdigest()[:DIGITS]
