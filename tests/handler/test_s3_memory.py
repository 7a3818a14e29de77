"""The largest photos that the settings allow, from S3 through the real function, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests import s3_events as events
from tests.handler.s3_fakes import Bucket

ROOT = Path(__file__).parents[2]
MEMORY_MB = 1769  # of the function, where it has a whole vCPU
# Linux's own peak: ru_maxrss of a new process begins with what its parent had.
STATUS = Path("/proc/self/status")
SCRIPT = """
import json, re, sys
from pathlib import Path
from handler.main import lambda_handler
from tests.events import Context
said = lambda_handler(json.loads(sys.argv[1]), Context(remaining_ms=120_000))
peak = int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1024
print(json.dumps([said["objects"][0], peak]), file=sys.stderr)
"""


def large(progressive: bool) -> bytes:
    """A noisy JPEG of 48 megapixels and about 17 MB."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (600, 800, 3), np.uint8)
    pixels = cv2.resize(coarse, (8000, 6000), interpolation=cv2.INTER_LINEAR)
    grain = np.tile(rng.integers(0, 24, (600, 800, 1), np.uint8), (10, 10, 3))
    options = [cv2.IMWRITE_JPEG_QUALITY, 88, cv2.IMWRITE_JPEG_PROGRESSIVE, int(progressive)]
    return cv2.imencode(".jpg", cv2.add(pixels, grain), options)[1].tobytes()


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="peak memory is read from Linux's /proc")
@pytest.mark.parametrize("progressive", [False, True])
def test_a_photo_of_48_megapixels_is_converted_in_the_function_s_memory(
    bucket: Bucket, s3_endpoint: str, frozen_styles: Path, progressive: bool
) -> None:
    data = large(progressive)
    assert 15e6 < len(data) < 20 * 1024**2
    bucket.put("a.jpg", data)
    event = json.dumps(events.notification("a.jpg", bucket=bucket.name))
    ours = {"STYLES_DIR": str(frozen_styles), "PYTHONPATH": str(ROOT), "AWS_ENDPOINT_URL": s3_endpoint}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, event],
        env={**os.environ, **ours, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(MEMORY_MB)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said, peak = json.loads(done.stderr.splitlines()[-1])
    assert said["status"] == "converted"
    assert peak < MEMORY_MB
