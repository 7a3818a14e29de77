"""The image under test, S3 within its reach, and pictures."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import cv2
import numpy as np
import pytest
from moto.server import ThreadedMotoServer

from infra.bench.container import SMALL, Sandbox, docker
from tests.s3_server import ENVIRONMENT

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def image() -> str:
    """The image's name; `make test-image` builds it."""
    if not (name := os.environ.get("ANIMEGAN_TEST_IMAGE")):
        pytest.skip("make test-image builds the image that this needs")
    return name


@pytest.fixture(scope="session")
def photo(image: str) -> bytes:
    """docs/images/photo.jpg, 800×800."""
    return (ROOT / "docs/images/photo.jpg").read_bytes()


@dataclass
class Network:
    """A network without a way out, and moto's S3 on its only other end, this machine."""

    name: str
    url: str

    def sandbox(self, image: str, **more: str) -> Sandbox:
        said = {**ENVIRONMENT, "AWS_ENDPOINT_URL": self.url, **more}
        return Sandbox(image, SMALL, self.name, said)

    def client(self) -> Any:
        said = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        return boto3.client("s3", endpoint_url=self.url, region_name=ENVIRONMENT["AWS_DEFAULT_REGION"], **said)


@pytest.fixture
def network(image: str) -> Iterator[Network]:
    name = f"animegan-{uuid.uuid4().hex[:8]}"
    docker("network", "create", "--internal", name)
    gateway = json.loads(docker("network", "inspect", name))[0]["IPAM"]["Config"][0]["Gateway"]
    server = ThreadedMotoServer(gateway, 0, verbose=False)
    server.start()
    url = f"http://{gateway}:{server.get_host_and_port()[1]}"
    try:
        # moto's buckets are the process's, not the server's
        urllib.request.urlopen(urllib.request.Request(f"{url}/moto-api/reset", method="POST"))
        yield Network(name, url)
    finally:
        server.stop()
        subprocess.run(["docker", "network", "rm", name], capture_output=True)


def pixels(data: bytes) -> np.ndarray:
    found = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert found is not None, "not a picture"
    return found
