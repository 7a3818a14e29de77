"""S3 as conversions need it: head, read, write, presign.

The only module that imports boto3, and imported only where S3 is used: it takes a quarter of a second.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from typing import Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from handler.deadline import Deadline
from handler.errors import NotConfigured, PayloadTooLarge, SourceMissing, StorageError
from handler.objects import Head, S3Object
from handler.storage_errors import status_of, translated

T = TypeVar("T")
CHUNK = 256 * 1024
# Three attempts, each given up after at most 3 + 10 s without a byte: well inside the 120 s of an S3 function.
CONFIG = Config(
    connect_timeout=3,
    read_timeout=10,
    retries={"mode": "standard", "total_max_attempts": 3},
    signature_version="s3v4",
)
NEVER = Deadline()
VARIABLES = "AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_S3"


class Storage:
    """S3 through one client. All methods raise StorageErrors, and OutOfTime where there is a deadline."""

    def __init__(self, client: Any, deadline: Deadline = NEVER) -> None:
        self._client, self._deadline = client, deadline

    def until(self, deadline: Deadline) -> Storage:
        """The same, for calls that have to be over by then."""
        return Storage(self._client, deadline)

    def head(self, source: S3Object) -> Head:
        said = self._ask(source, lambda: self._head(source))
        version = said.get("VersionId")
        return Head(
            said["ETag"],
            said["ContentLength"],
            None if version == "null" else version,  # as S3 calls what a bucket without versions has
            said["LastModified"],
            {name.lower(): value for name, value in said["Metadata"].items()},
        )

    def read(self, source: S3Object, head: Head, limit: int) -> bytes:
        """The bytes that `head` was about. Raises SourceChanged if others are there by now, PayloadTooLarge."""
        return self._ask(source, lambda: b"".join(self._chunks(source, head, limit)))

    def write(self, bucket: str, key: str, data: bytes, condition: Mapping[str, str], **more: Any) -> None:
        """`condition` (IfMatch, IfNoneMatch, or empty) and `more` are as put_object has them.

        Raises SourceChanged where the condition does not hold.
        """
        said = {"Bucket": bucket, "Key": key, "Body": data, **more}
        self._ask(S3Object(bucket, key), lambda: self._put(said, condition))

    def is_missing(self, bucket: str) -> bool:
        """Whether S3 says that there is no such bucket; not where it says nothing, for lack of rights."""
        try:
            self._ask(S3Object(bucket, ""), lambda: self._client.head_bucket(Bucket=bucket))
        except SourceMissing:
            return True
        except StorageError:
            return False
        return False

    def link(self, bucket: str, key: str, seconds: int) -> str:
        """A presigned GET."""
        parameters = {"Bucket": bucket, "Key": key}
        with translated(S3Object(bucket, key)):
            signed: str = self._client.generate_presigned_url("get_object", Params=parameters, ExpiresIn=seconds)
        return signed

    def form(
        self, bucket: str, key: str, fields: Mapping[str, str], most: int, seconds: int
    ) -> tuple[str, dict[str, str]]:
        """A presigned POST, as (URL, fields): these fields exactly, and 1 to `most` bytes."""
        conditions = [*({name: value} for name, value in fields.items()), ["content-length-range", 1, most]]
        self.link(bucket, key, seconds)  # without credentials it says so, where boto3's other call breaks
        with translated(S3Object(bucket, key)):
            signed = self._client.generate_presigned_post(
                bucket, key, Fields=dict(fields), Conditions=conditions, ExpiresIn=seconds
            )
        return signed["url"], signed["fields"]

    def _ask(self, about: S3Object, call: Callable[[], T]) -> T:
        with translated(about):
            return self._deadline.run(call)

    def _head(self, source: S3Object) -> Any:
        try:
            return self._client.head_object(**_address(source))
        except ClientError as error:
            if status_of(error) == 400:  # a HEAD's answer has no body, and so no reason; a GET's has one
                self._client.get_object(**_address(source), Range="bytes=0-0")["Body"].close()
            raise

    def _chunks(self, source: S3Object, head: Head, limit: int) -> Iterator[bytes]:
        with closing(self._client.get_object(**_address(source), IfMatch=head.etag)["Body"]) as body:
            taken = 0
            while chunk := body.read(CHUNK):
                taken += len(chunk)
                if taken > limit:
                    raise PayloadTooLarge(f"{source} has over {limit:,} bytes, more than it said before.")
                self._deadline.left()  # so that a download ends that nobody waits for any more
                yield chunk

    def _put(self, said: Mapping[str, Any], condition: Mapping[str, str]) -> None:
        try:
            self._client.put_object(**said, **condition)
        except ClientError as error:
            if not condition or status_of(error) != 501:
                raise
            self._client.put_object(**said)  # other stores than S3 may know no conditions


@lru_cache(maxsize=1)
def storage() -> Storage:
    """The process's own. Region, credentials and AWS_ENDPOINT_URL are boto3's business. Raises NotConfigured."""
    # By default boto3 signs links and forms for the global address, which redirects those of a new bucket to its
    # region; a browser's form does not survive that. An address of one's own is left as it is.
    custom = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    style = Config(s3={"addressing_style": "auto" if custom else "virtual"})
    try:
        return Storage(boto3.client("s3", config=CONFIG.merge(style)))
    except (BotoCoreError, ValueError) as error:  # ValueError is boto3's for an address that is none
        raise NotConfigured(f"S3 cannot be used: {error}. See to {VARIABLES}.") from error


def _address(source: S3Object) -> dict[str, str]:
    version = {"VersionId": source.version_id} if source.version_id else {}
    return {"Bucket": source.bucket, "Key": source.key, **version}
