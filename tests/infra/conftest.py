"""The command line in a process of its own, photos, and a stand-in for the function where that is not tested."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EVENTS = ROOT / "infra" / "events"
CLI = (sys.executable, "-m", "infra.cli")

Environment = dict[str, str]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def environment(frozen_styles: Path, tmp_path: Path) -> Environment:
    """For a process: the test style, a home of its own, nothing of ours set by whoever runs the tests."""
    ours = ("MAX_", "STYLE", "AWS_", "POWERTOOLS_", "PRECISION", "NUM_THREADS", "OUTPUT_", "UPLOAD_", "FORCE")
    # Unbuffered, Python loses the rest of what a signal lets it write in part.
    ours += ("CACHE_", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {
        **kept,
        "STYLES_DIR": str(frozen_styles),
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


@pytest.fixture
def animegan(environment: Environment) -> Run:
    """animegan("convert", path, …): the real command, with its output."""

    def run(*args: object, **more: Any) -> subprocess.CompletedProcess[str]:
        variables = {**environment, **more.pop("env", {})}
        command = [*CLI, *map(str, args)]
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, **more)

    return run


def picture(format: str = "jpg", width: int = 96, height: int = 64) -> bytes:
    """A photo of nothing: a gradient with a disc."""
    pixels = np.indices((height, width, 3)).sum(axis=0).astype(np.uint8)
    cv2.circle(pixels, (width // 2, height // 2), min(width, height) // 4, (40, 90, 200), -1)
    done, data = cv2.imencode(f".{format}", pixels)
    assert done
    return data.tobytes()


def size(path: Path) -> tuple[int, int]:
    """(width, height) of a picture that decodes."""
    pixels = cv2.imread(os.fspath(path))
    assert pixels is not None, f"{path} is no whole picture"
    return pixels.shape[1], pixels.shape[0]


def fake_function(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answers like POST /convert, with the photo's bytes as its picture; `bad` bytes are a problem."""
    data = base64.b64decode(event["body"])
    if b"bad" in data:
        problem = {"status": 422, "code": "corrupt_image", "title": "t", "detail": "The image is damaged."}
        return {"statusCode": 422, "headers": {}, "body": json.dumps(problem), "isBase64Encoded": False}
    query = event["queryStringParameters"]
    own = "jpeg" if data.startswith(b"\xff\xd8\xff") else "png"
    said = {
        "image": event["body"],
        "format": query.get("format", own),
        "width": 1,
        "height": 2,
        "style": "cel",
        "timings": {"total": 3.0},
        "warnings": ["Odd."],
    }
    return {"statusCode": 200, "headers": {}, "body": json.dumps(said), "isBase64Encoded": False}


def heed_ctrl_c() -> None:
    """For a new process: what a shell starts in the background ignores SIGINT, what nohup starts SIGHUP."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def interruptible(
    environment: Environment, *command: object, stderr: int = subprocess.PIPE
) -> subprocess.Popen[str]:
    """`animegan …` in a process of its own, which Ctrl-C ends; its output is text."""
    started = [*CLI, *map(str, command)]
    return subprocess.Popen(
        started, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, preexec_fn=heed_ctrl_c
    )
