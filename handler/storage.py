"""S3 as conversions need it: head, read, write, presign; and its many errors sorted into our few.

The only module that imports boto3, and imported only where S3 is used: it takes a quarter of a second.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from handler.errors import (
    AccessDenied,
    PayloadTooLarge,
    SourceArchived,
    SourceChanged,
    SourceMissing,
    StorageError,
    StorageRefused,
    StorageUnavailable,
)
from handler.objects import Head, S3Object

CHUNK = 256 * 1024
# Three attempts, each given up after at most 3 + 10 s without a byte: well inside the 120 s of an S3 function.
CONFIG = Config(
    connect_timeout=3,
    read_timeout=10,
    retries={"mode": "standard", "total_max_attempts": 3},
    signature_version="s3v4",
)

# Besides 429 and every 5xx. Credentials that have expired are renewed by the next attempt.
TRANSIENT = {
    *("RequestTimeout", "RequestTimeTooSkewed", "ExpiredToken", "TokenRefreshRequired"),
    *("Throttling", "ThrottlingException", "SlowDown", "OperationAborted", "ConditionalRequestConflict"),
}
BY_STATUS: dict[int, type[StorageError]] = {
    401: AccessDenied,
    403: AccessDenied,
    404: SourceMissing,
    405: SourceMissing,  # a HEAD of a delete marker's version
    409: StorageUnavailable,
    412: SourceChanged,
    429: StorageUnavailable,
}


class Storage:
    """S3 through one client. Every method raises StorageErrors and nothing else of boto3's."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def head(self, source: S3Object) -> Head:
        with _translated(source):
            said = self._client.head_object(**_address(source))
        return Head(
            said["ETag"],
            said["ContentLength"],
            said.get("VersionId"),
            said["LastModified"],
            {name.lower(): value for name, value in said["Metadata"].items()},
        )

    def read(self, source: S3Object, head: Head, limit: int) -> Iterator[bytes]:
        """The bytes that `head` was about, in chunks. Raises SourceChanged if others are there by now."""
        with _translated(source):
            body = self._client.get_object(**_address(source), IfMatch=head.etag)["Body"]
            taken = 0
            while chunk := body.read(CHUNK):
                taken += len(chunk)
                if taken > limit:
                    body.close()
                    raise PayloadTooLarge(f"{source} has over {limit:,} bytes, more than it said before.")
                yield chunk

    def write(self, bucket: str, key: str, data: bytes, **more: Any) -> None:
        """`more` as put_object has it: ContentType, CacheControl, Metadata."""
        with _translated(S3Object(bucket, key)):
            self._client.put_object(Bucket=bucket, Key=key, Body=data, **more)

    def link(self, bucket: str, key: str, seconds: int) -> str:
        """A presigned GET."""
        parameters = {"Bucket": bucket, "Key": key}
        signed: str = self._client.generate_presigned_url("get_object", Params=parameters, ExpiresIn=seconds)
        return signed

    def form(
        self, bucket: str, key: str, fields: Mapping[str, str], most: int, seconds: int
    ) -> tuple[str, dict[str, str]]:
        """A presigned POST, as (URL, fields): these fields exactly, and 1 to `most` bytes."""
        conditions = [{name: value} for name, value in fields.items()]
        signed = self._client.generate_presigned_post(
            bucket,
            key,
            Fields=dict(fields),
            Conditions=[*conditions, ["content-length-range", 1, most]],
            ExpiresIn=seconds,
        )
        return signed["url"], signed["fields"]


@lru_cache(maxsize=1)
def storage() -> Storage:
    """The process's own. Region, credentials and AWS_ENDPOINT_URL are boto3's business."""
    # By default boto3 signs links and forms for the global address, which redirects those of a new bucket to its
    # region; a browser's form does not survive that. An address of one's own is left as it is.
    custom = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    style = Config(s3={"addressing_style": "auto" if custom else "virtual"})
    return Storage(boto3.client("s3", config=CONFIG.merge(style)))


def _address(source: S3Object) -> dict[str, str]:
    version = {"VersionId": source.version_id} if source.version_id else {}
    return {"Bucket": source.bucket, "Key": source.key, **version}


@contextmanager
def _translated(source: S3Object) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        raise _storage_error(error, source) from error
    except ParamValidationError as error:
        raise StorageRefused(f"{source} cannot be the name of an object: {error}".replace("\n", " ")) from error
    except BotoCoreError as error:  # timeouts, cut connections, bodies that end early, no credentials
        raise StorageUnavailable(f"{source}: {error}") from error


def _storage_error(error: ClientError, source: S3Object) -> StorageError:
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    said = f"{source}: {code} ({status}) on {error.operation_name}"
    # A HEAD's answer has no body: 400 may as well be a token that has expired, so nothing is given up for it.
    if code in TRANSIENT or status >= 500 or (error.operation_name, status) == ("HeadObject", 400):
        return StorageUnavailable(f"{said}; try again.")
    if code == "InvalidObjectState":
        return SourceArchived(f"{said}: restore it from its archive first, then convert it.")
    kind = BY_STATUS.get(status, StorageRefused)
    if error.operation_name == "PutObject" and kind is SourceMissing:
        kind = StorageRefused  # the bucket for pictures is missing, not the photo
    hint = "; without s3:ListBucket that is also S3's answer for a missing object" if kind is AccessDenied else ""
    return kind(f"{said}{hint}.")
