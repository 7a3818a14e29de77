"""S3 on this machine, for S3 events without AWS: a folder's subfolders as buckets, through moto's server.

Nothing of it reaches AWS: address, credentials and region are set for boto3 while it runs.
"""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infra import interrupts
from infra.errors import BadRequest, NotInstalled
from infra.outputs import write
from infra.progress import Say
from infra.text import explained, shown

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
THEIRS = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")


@contextmanager
def local_s3(folder: Path, say: Say) -> Iterator[list[str]]:
    """Serve `folder` until the end, then write what is new into it, however the end came about.

    Gives a list, which then has the keys that could not be written. Raises NotInstalled, BadRequest, OSError.
    """
    buckets = _buckets(folder)
    with interrupts.anywhere():
        server = _server()
    try:
        host, port = server.get_host_and_port()
        _set_environment(f"http://{host}:{port}")
        with interrupts.anywhere():
            client = _client()
            before = {bucket.name: _upload(client, bucket) for bucket in buckets}
        unwritten: list[str] = []

        def download() -> None:
            for bucket in buckets:
                unwritten.extend(_download(client, bucket, before[bucket.name], say))

        with interrupts.last(download):  # a picture that was made is not lost because of what ended its making
            try:
                yield unwritten
            finally:
                download()
    finally:
        server.stop()


def _server() -> Any:
    try:
        from moto.server import ThreadedMotoServer
    except ImportError:
        raise NotInstalled("--s3 needs moto's server: pip install 'moto[server]'") from None
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    return server


def _buckets(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not found:
        raise BadRequest(f"{shown(folder)} has no folders: each is a bucket, such as {shown(folder)}/photos")
    return found


def _set_environment(url: str) -> None:
    for name in THEIRS:
        os.environ.pop(name, None)
    os.environ.update({**ENVIRONMENT, "AWS_ENDPOINT_URL": url, "AWS_ENDPOINT_URL_S3": url})


def _client() -> Any:
    import logging

    import boto3

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line per request
    return boto3.client("s3")


def _upload(client: Any, bucket: Path) -> dict[str, str]:
    """Key -> ETag of every file. Raises BadRequest."""
    from botocore.exceptions import BotoCoreError, ClientError

    where = {"LocationConstraint": ENVIRONMENT["AWS_DEFAULT_REGION"]}
    try:
        client.create_bucket(Bucket=bucket.name, CreateBucketConfiguration=where)
        etags = {}
        for path in sorted(path for path in bucket.rglob("*") if path.is_file()):
            key = path.relative_to(bucket).as_posix()
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            said = client.put_object(Bucket=bucket.name, Key=key, Body=path.read_bytes(), ContentType=kind)
            etags[key] = said["ETag"]
    except (BotoCoreError, ClientError, UnicodeEncodeError) as error:
        raise BadRequest(f"{shown(bucket)} cannot be a bucket: {error}") from error
    return etags


def _download(client: Any, bucket: Path, before: dict[str, str], say: Say) -> list[str]:
    """Write every object that is new or changed to its file. Returns the keys for which there can be none."""
    unwritten: list[str] = []
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket.name)
    for said in (said for page in pages for said in page.get("Contents", [])):
        key = said["Key"]
        if before.get(key) == said["ETag"]:
            continue
        try:
            path = _inside(bucket, key)
            write(path, client.get_object(Bucket=bucket.name, Key=key)["Body"].read())
            say(f"s3://{bucket.name}/{shown(key)} -> {shown(path)}")
        except (OSError, ValueError) as error:
            say(f"s3://{bucket.name}/{shown(key)} was not written: {explained(error)}")
            unwritten.append(key)
    return unwritten


def _inside(bucket: Path, key: str) -> Path:
    """The file of an object. Raises ValueError where it would lie outside the folder."""
    path = bucket / key
    if key.endswith("/") or not path.resolve().is_relative_to(bucket.resolve()):
        raise ValueError(f"it would lie outside {shown(bucket)}")
    return path
