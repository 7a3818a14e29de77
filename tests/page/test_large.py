"""Below a stage and behind Lambda's limits: what is too large is made smaller, or goes through the bucket."""

from __future__ import annotations

import base64
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import cv2
import numpy as np
import pytest
from PIL import Image

from handler.function import Function
from handler.settings import Settings
from handler.storage import storage
from tests import s3_events
from tests.events import Context
from tests.page.conftest import MAX_SIDE, Visit, decoded, pixels, read, write
from tests.page.gateway import gateway
from tests.s3_server import ENVIRONMENT, REGION, s3_server

PAYLOAD = 4_669_515


@pytest.fixture(scope="session")
def stage(browser: Any, function: Function) -> Iterator[str]:
    with gateway(function, "Prod") as url:
        yield url


def sent_photo(here: Visit, path: Path) -> tuple[bytes, dict[str, Any]]:
    with here.page.expect_request("**/convert", timeout=60_000) as request:
        here.page.set_input_files("#file", path)
    here.until("done")
    said = request.value.post_data_json
    return base64.b64decode(said.pop("image")), said


def test_below_a_stage_everything_is_found_and_nothing_is_binary(visit: Any, stage: str, photo: Path) -> None:
    here = visit(stage)
    assert sent_photo(here, photo)[0] == photo.read_bytes()
    assert all(url.startswith((f"{stage}/", "blob:")) for url in here.requests)
    assert here.page.evaluate("document.querySelector('.brand img').naturalWidth") > 0  # an SVG, as text
    with here.page.expect_download() as begun:
        here.page.click("#download")
    assert read(begun.value.path()).shape == (160, 240, 3)


def test_a_stage_without_its_slash_leads_to_the_page(visit: Any, stage: str) -> None:
    here = visit(stage)
    here.page.goto(stage)
    assert here.page.url == f"{stage}/"


def test_a_photo_of_22_megapixels_is_made_smaller_and_that_is_said(visit: Any, stage: str, tmp_path: Path) -> None:
    large = write(tmp_path / "large.jpg", np.tile(pixels(2000, 2800, noise=60), (2, 2, 1)))
    assert large.stat().st_size > PAYLOAD
    here = visit(stage)
    data, said = sent_photo(here, large)
    assert len(data) <= PAYLOAD
    small = decoded(data)
    assert max(small.shape) == 2 * MAX_SIDE
    assert small.shape[1] / small.shape[0] == pytest.approx(5600 / 4000, abs=0.005)
    assert said["format"] == "jpeg"
    assert "5600 × 4000 px" in here.text("#notes")
    assert "512 × 366 px" in here.text("#notes")
    assert here.text("#facts").startswith("256 × 183 px · JPEG")
    # The mean colour of noise is that of what it was added to: nothing was skipped, darkened or swapped.
    expected = cv2.resize(read(large), (16, 16), interpolation=cv2.INTER_AREA).astype(float)
    assert np.abs(cv2.resize(small, (16, 16), interpolation=cv2.INTER_AREA) - expected).mean() < 4


def test_what_is_transparent_stays_so_when_it_is_made_smaller(visit: Any, stage: str, tmp_path: Path) -> None:
    bgra = np.dstack([pixels(1200, 1600, noise=90), np.full((1200, 1600), 255, np.uint8)])
    bgra[:, :800, 3] = 0
    large = write(tmp_path / "cut out.png", bgra)
    assert large.stat().st_size > PAYLOAD
    data, said = sent_photo(visit(stage), large)
    small = decoded(data)
    assert said["format"] == "png"
    assert small.shape == (384, 512, 4)
    assert (small[100, 50, 3], small[100, 450, 3]) == (0, 255)


def test_a_large_photo_on_its_side_is_sent_upright(visit: Any, stage: str, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 8  # turned by a quarter: what is stored right is seen on top
    stored = pixels(1500, 2400, noise=90)
    stored[:, 1200:] //= 4
    Image.fromarray(stored).save(tmp_path / "side.jpg", exif=exif, quality=98, subsampling=0)
    assert (tmp_path / "side.jpg").stat().st_size > PAYLOAD
    data, _ = sent_photo(visit(stage), tmp_path / "side.jpg")
    small = decoded(data)
    assert small.shape == (512, 320, 3)
    assert small[:256].mean() < 0.6 * small[256:].mean()


def test_what_cannot_be_made_smaller_here_is_told(visit: Any, stage: str, tmp_path: Path) -> None:
    scan = write(tmp_path / "scan.tiff", pixels(1000, 1700), cv2.IMWRITE_TIFF_COMPRESSION, 1)
    assert scan.stat().st_size > PAYLOAD
    here = visit(stage)
    here.convert(scan, "failed")
    assert here.page.get_attribute("#problem", "data-code") == "payload_too_large"
    assert "4.7 MB are taken here" in here.text("#problem-detail")


# Through the bucket


@dataclass
class Bucket:
    s3: Any
    name: str

    def keys(self) -> set[str]:
        found = self.s3.list_objects_v2(Bucket=self.name, Prefix="uploads/")
        return {one["Key"] for one in found.get("Contents", [])}

    def allow(self, stage: str) -> None:
        rule = {"AllowedOrigins": [origin(stage)], "AllowedMethods": ["GET", "POST"], "AllowedHeaders": ["*"]}
        self.s3.put_bucket_cors(Bucket=self.name, CORSConfiguration={"CORSRules": [rule]})


def origin(stage: str) -> str:
    return stage.rpartition("/")[0]


@pytest.fixture
def bucket(browser: Any) -> Iterator[Bucket]:
    with s3_server() as url, pytest.MonkeyPatch.context() as patch:
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": url}.items():
            patch.setenv(name, value)
        storage.cache_clear()
        made = Bucket(boto3.client("s3"), f"photos-{uuid.uuid4().hex}")
        made.s3.create_bucket(Bucket=made.name, CreateBucketConfiguration={"LocationConstraint": REGION})
        yield made
        storage.cache_clear()


@pytest.fixture
def uploading(bucket: Bucket, frozen_styles: Path) -> Iterator[str]:
    """A stage whose function has a bucket, and gets its events."""
    settings = Settings(
        styles_dir=frozen_styles, max_side=MAX_SIDE, num_threads=1, precision="float32",
        upload_bucket=bucket.name, error_reports=True,
    )  # fmt: skip
    function = Function(settings, begun=time.perf_counter())
    over = threading.Event()

    def notify() -> None:  # as S3 does; each object once
        told: set[str] = set()
        while not over.wait(0.1):
            for key in bucket.keys() - told:
                told.add(key)
                function(s3_events.notification(key, bucket=bucket.name), Context())

    notifier = threading.Thread(target=notify)
    notifier.start()
    with gateway(function, "Prod") as url:
        yield url
    over.set()
    notifier.join()


def test_a_large_photo_that_the_browser_cannot_read_goes_through_the_bucket(
    visit: Any, uploading: str, bucket: Bucket, tmp_path: Path
) -> None:
    bucket.allow(uploading)
    scan = write(tmp_path / "scan.tiff", pixels(1000, 1700), cv2.IMWRITE_TIFF_COMPRESSION, 1)
    here = visit(uploading)
    here.convert(scan)
    assert here.text("#facts").startswith("256 × 151 px · PNG")
    assert "went through the upload bucket" in here.text("#notes")
    assert here.page.eval_on_selector_all("#bars li", "all => all.map(e => e.dataset.stage)") == [
        "upload", "convert", "fetch", "total",
    ]  # fmt: skip
    assert here.origins() == {origin(uploading), bucket.s3.meta.endpoint_url}
    with here.page.expect_download() as begun:
        here.page.click("#download")
    assert begun.value.suggested_filename == "scan-cel.png"
    assert read(begun.value.path()).shape == (151, 256, 3)


def test_what_the_bucket_gets_and_cannot_be_converted_is_told(
    visit: Any, uploading: str, bucket: Bucket, tmp_path: Path
) -> None:
    bucket.allow(uploading)
    scan = write(tmp_path / "scan.tiff", pixels(1000, 1700), cv2.IMWRITE_TIFF_COMPRESSION, 1)
    scan.write_bytes(b"This is no photo. " * 300_000)
    here = visit(uploading)
    here.convert(scan, "failed")
    assert here.page.get_attribute("#problem", "data-code") == "unsupported_format"


@pytest.mark.parametrize("status", [None, 403])
def test_a_bucket_that_lets_no_page_in_is_told_apart_from_the_server(
    visit: Any, uploading: str, bucket: Bucket, tmp_path: Path, status: int | None
) -> None:
    scan = write(tmp_path / "scan.tiff", pixels(1000, 1700), cv2.IMWRITE_TIFF_COMPRESSION, 1)
    here = visit(uploading)
    allowed = {"Access-Control-Allow-Origin": origin(uploading)}
    here.page.route(  # moto's server lets every page in
        f"{bucket.s3.meta.endpoint_url}/**",
        lambda route: route.fulfill(status=status, headers=allowed) if status else route.abort(),
    )
    here.convert(scan, "failed")
    code = here.page.get_attribute("#problem", "data-code")
    assert code == ("storage_refused" if status else "bucket_closed")
    here.errors.clear()  # Chromium's own line


def test_a_large_photo_that_the_browser_can_read_needs_no_bucket(
    visit: Any, uploading: str, tmp_path: Path
) -> None:
    large = write(tmp_path / "large.jpg", pixels(1500, 2400, noise=90), cv2.IMWRITE_JPEG_QUALITY, 98)
    assert large.stat().st_size > PAYLOAD
    here = visit(uploading)
    assert len(sent_photo(here, large)[0]) <= PAYLOAD
    assert here.origins() == {origin(uploading)}
