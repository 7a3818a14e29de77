"""The function under test, with a generator of seeded random weights, and photos made on the spot."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from handler.function import Function
from handler.settings import Settings
from tests.handler.s3_fakes import Bucket
from tests.s3_server import ENVIRONMENT, Proxy, proxy, s3_server


@pytest.fixture(scope="session")
def settings(frozen_styles: Path) -> Settings:
    # No cache: tests convert the same photo again and again, to see what a conversion does.
    return Settings(styles_dir=frozen_styles, num_threads=1, precision="float32", cache_bytes=0)


@pytest.fixture(scope="session")
def function(settings: Settings) -> Function:
    return Function(settings, begun=time.perf_counter())


@pytest.fixture(scope="session")
def photo() -> bytes:
    """A JPEG of 96×64 pixels: smooth colours, so that it survives compression."""
    rows, columns = np.mgrid[0:64, 0:96]
    bgr = np.dstack([columns * 2, rows * 3, 255 - columns]).astype(np.uint8)
    return cv2.imencode(".jpg", bgr)[1].tobytes()


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """moto's server; boto3's clients find it, and test credentials, in the environment."""
    with s3_server() as url, pytest.MonkeyPatch.context() as patch:
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": url}.items():
            patch.setenv(name, value)
        yield url


@pytest.fixture
def bucket(s3_endpoint: str) -> Bucket:
    return Bucket(s3_endpoint)


@pytest.fixture
def faulty(s3_endpoint: str) -> Iterator[Proxy]:
    with proxy(s3_endpoint) as between:
        yield between
