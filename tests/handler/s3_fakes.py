"""What stands in for a generator where the pictures do not matter, and buckets that are made for one test."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
import cv2
import numpy as np
from botocore.config import Config
from torch import Tensor

from handler.converter import Converter
from handler.envelopes import envelope
from handler.errors import UnknownStyle
from handler.generator import Manifest
from handler.metrics import LogLines
from handler.s3 import S3Events
from handler.settings import Settings
from handler.storage import CONFIG, Storage
from tests.events import Context

PATIENT = Config()  # with the function's own timeouts
FAST = Config(read_timeout=1, retries={"mode": "standard", "total_max_attempts": 2})


class Negative:
    """A generator that costs nothing, whose pictures can be told from photos."""

    precision = "float32"
    kernel = "torch"
    seconds_per_pixel = 0.0
    seconds = 0.0  # how long it takes

    def __call__(self, x: Tensor) -> Tensor:
        time.sleep(self.seconds)
        return -x


class Negatives:
    """The styles `cel` and `ink`, as Styles would have them."""

    def __init__(self) -> None:
        self.generator = Negative()
        self.manifests = {name: Manifest(name, name.title(), "MIT", name * 4, {}) for name in ("cel", "ink")}

    def precision(self, name: str) -> str:
        return self.generator.precision

    def __getitem__(self, name: str) -> Negative:
        if name not in self.manifests:
            raise UnknownStyle(f"There is no style {name!r} here.")
        return self.generator


@dataclass
class Bucket:
    """A bucket of its own name, and S3Events that work on it."""

    endpoint: str
    settings: dict[str, Any] = field(default_factory=dict)
    name: str = field(default_factory=lambda: "b" + uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.s3 = boto3.client("s3", endpoint_url=self.endpoint)
        self.s3.create_bucket(Bucket=self.name, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        self.styles = Negatives()

    def events(self, endpoint: str | None = None, config: Config = FAST, **settings: Any) -> S3Events:
        chosen = Settings(**{**self.settings, **settings})
        converter = Converter(chosen, self.styles, LogLines(vcpus=1, threads=1))  # type: ignore[arg-type]
        client = boto3.client("s3", endpoint_url=endpoint or self.endpoint, config=CONFIG.merge(config))
        return S3Events(converter, Storage(client))

    def put(self, key: str, data: bytes, **more: Any) -> Any:
        return self.s3.put_object(Bucket=self.name, Key=key, Body=data, **more)

    def get(self, key: str) -> Any:
        """get_object's answer, with `Body` read."""
        said = self.s3.get_object(Bucket=self.name, Key=key)
        return {**said, "Body": said["Body"].read()}

    def keys(self, prefix: str = "") -> set[str]:
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return {said["Key"] for page in pages for said in page.get("Contents", [])}


def answer(events: S3Events, event: dict[str, Any], context: Any = None) -> dict[str, Any]:
    found = envelope(event)
    assert found
    return events(found, context or Context())


def status(said: dict[str, Any]) -> list[tuple[str, str | None]]:
    """(status, code) of each object in a direct envelope's answer."""
    return [(one["status"], one.get("code")) for one in said["objects"]]


def versioned(bucket: Bucket, *data: bytes) -> list[str]:
    """Version ids of a.jpg, in a bucket that has versions from now on."""
    on = {"Status": "Enabled"}
    bucket.s3.put_bucket_versioning(Bucket=bucket.name, VersioningConfiguration=on)
    return [bucket.put("a.jpg", one)["VersionId"] for one in data]


def photo(format: str = "jpg", seed: int = 0, width: int = 48, height: int = 32) -> bytes:
    """Smooth, so that it survives JPEG; two colours tell seeds apart."""
    columns = np.mgrid[0:height, 0:width][1]
    coarse, fine = (np.full_like(columns, value) for value in (seed // 16 * 12 % 256, seed % 16 * 16))
    bgr = np.dstack([columns * 4 % 256, coarse, fine]).astype(np.uint8)
    return cv2.imencode(f".{format}", bgr)[1].tobytes()


def pixels(data: bytes) -> Any:
    decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert decoded is not None
    return decoded.astype(int)


def is_negative(picture: bytes, original: bytes) -> bool:
    there, here = pixels(picture), pixels(original)
    return there.shape == here.shape and np.abs(there + here - 255).mean() < 4


def lines(out: str) -> Iterator[dict[str, Any]]:
    """The log lines of a test's stdout."""
    yield from map(json.loads, out.splitlines())
