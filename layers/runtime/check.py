"""Checks an assembled task root before it becomes an image; a failed check fails the build.

Run as `python3 -I check.py TASK_ROOT` in the image's Python; isolated (-I), it finds the task root and what
the base image has. The tests of the whole image are in tests/image.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from types import SimpleNamespace
from typing import Any

NOT_WANTED = ("nvidia", "triton", "cuda")
NOWHERE = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
EXTENSIONS = (".jpg", ".png", ".webp", ".gif", ".bmp", ".tiff", ".avif")


def check(root: Path) -> None:
    """Raises AssertionError or what importing and converting raises."""
    cuda = [d.name for d in distributions(path=[str(root)]) if d.name.lower().startswith(NOT_WANTED)]
    assert not cuda, f"{', '.join(cuda)} in the image: take torch's CPU build"
    os.environ |= {"LAMBDA_TASK_ROOT": str(root), **NOWHERE}
    sys.path.insert(0, str(root))
    import torch

    lambda_handler = import_module("handler.main").lambda_handler  # by name, as Lambda does

    assert torch.version.cuda is None, f"torch is built for CUDA {torch.version.cuda}: take the CPU build"
    for extension in EXTENSIONS:
        answer = lambda_handler(event(photo(extension)), CONTEXT)
        assert answer["statusCode"] == 200, f"{extension}: {answer}"
        said = json.loads(answer["body"])
        assert (said["width"], said["height"]) == (96, 64), f"{extension}: {said['width']}×{said['height']}"
    import_module("handler.storage").storage()  # boto3, with what is left of botocore's data
    unreadable = [path for path in root.rglob("*") if not path.stat().st_mode & 0o004]
    assert not unreadable, f"Lambda runs as another user, who cannot read {unreadable[:3]}"


def photo(extension: str) -> bytes:
    """96×64 pixels of grey with a red patch."""
    import cv2
    import numpy as np

    pixels = np.full((64, 96, 3), 128, np.uint8)
    pixels[16:48, 24:72] = (0, 0, 255)
    done, encoded = cv2.imencode(extension, pixels)
    assert done, f"OpenCV cannot write {extension}"
    return encoded.tobytes()


def event(body: bytes) -> dict[str, Any]:
    """As a function URL sends it (payload 2.0)."""
    http = {"method": "POST", "path": "/convert", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": ""}
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": "/convert",
        "rawQueryString": "",
        "headers": {"content-type": "application/octet-stream", "accept": "application/json"},
        "requestContext": {"http": http, "stage": "$default", "domainName": "x.lambda-url.us-east-1.on.aws"},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }


CONTEXT = SimpleNamespace(aws_request_id="image-check", get_remaining_time_in_millis=lambda: 60_000)

if __name__ == "__main__":
    check(Path(sys.argv[1]))
    print("the task root converts every format that it should, without CUDA, readable by every user")
