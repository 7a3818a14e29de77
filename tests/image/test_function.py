"""The function in its container, as small and as walled in as on Lambda."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import cv2
import numpy as np
import pytest

from infra.bench.container import MEDIUM, SMALL, USER, Sandbox, Size, docker
from infra.emulator import Emulator
from infra.errors import BadRequest
from infra.http_event import post
from tests.image.conftest import pixels


def body(answer: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(answer["body"])
    return said


def similarity(a: np.ndarray, b: np.ndarray) -> float:
    from skimage.metrics import structural_similarity

    return float(structural_similarity(a, b, channel_axis=2))


@pytest.mark.parametrize("size", [SMALL, MEDIUM], ids=str)
def test_a_photo_becomes_the_picture_that_it_becomes_without_a_container(
    image: str, photo: bytes, size: Size
) -> None:
    event = post("/convert", photo, "image/jpeg", {"format": "png", "size": "512"})
    with Sandbox(image, size).running() as function:
        inside = body(function.invoke(event))
        (line,) = function.log_lines("conversion")
    outside = body(Emulator().invoke(event).payload)
    assert (inside["width"], inside["height"]) == (512, 512)
    assert similarity(pixels(base64.b64decode(inside["image"])), pixels(base64.b64decode(outside["image"]))) > 0.98
    assert line["vcpus"] == round(min(size.memory_mb / 1769, line["threads"]), 2)


def test_it_runs_as_another_user_on_a_read_only_root_without_network_or_shared_memory(image: str) -> None:
    look = """
import json, os, socket
def can(act):
    try:
        act()
        return True
    except OSError:
        return False
print(json.dumps({
    "user": f"{os.getuid()}:{os.getgid()}",
    "task root": can(lambda: open("/var/task/x", "w")),
    "tmp": can(lambda: open("/tmp/x", "w")),
    "shared memory": os.path.exists("/dev/shm"),
    "network": can(lambda: socket.create_connection(("1.1.1.1", 53), 2)),
}))
"""
    assert json.loads(Sandbox(image).python("-c", look)) == {
        "user": USER,
        "task root": False,
        "tmp": True,
        "shared memory": False,
        "network": False,
    }


def test_there_is_no_cuda_in_it_and_all_of_it_is_compiled(image: str) -> None:
    look = """
import json, pathlib
from importlib.metadata import distributions
root = pathlib.Path("/var/task")
names = [d.name for d in distributions(path=["/var/task"])]
bare = [str(p) for p in root.rglob("*.py") if not list((p.parent / "__pycache__").glob(f"{p.stem}.*.pyc"))]
flags = {p.read_bytes()[4] for p in (root / "handler").rglob("*.pyc")}
print(json.dumps([names, bare, sorted(flags)]))
"""
    names, bare, flags = json.loads(Sandbox(image).python("-c", look))
    assert {"torch", "numpy", "mangum"} <= set(names)
    assert not [name for name in names if name.lower().startswith(("nvidia", "triton", "cuda"))]
    assert bare == []
    assert flags == [0b01]  # by hash, unchecked (PEP 552)


def test_init_loads_nothing_that_a_conversion_over_http_does_not_need(image: str) -> None:
    look = """
import sys; sys.path.insert(0, "/var/task")
import handler.main
heavy = {"boto3", "botocore.client", "sympy", "handler.s3", "handler.storage", "handler.openapi", "torch._dynamo",
         "numpy.random", "pip", "setuptools"}
print(*sorted(heavy & set(sys.modules)))
"""
    assert Sandbox(image).python("-c", look).splitlines()[-1] == ""


def test_the_allocator_is_preloaded_and_a_warm_conversion_asks_the_kernel_for_next_to_no_memory(
    image: str, photo: bytes
) -> None:
    event = post("/convert", photo, "image/jpeg", {"size": "512"})
    with Sandbox(image).running() as function:
        for _ in range(4):
            assert function.invoke(event)["statusCode"] == 200
        lines = function.log_lines("conversion")
        maps = docker("exec", function.id, "sh", "-c", "cat /proc/[0-9]*/maps 2>/dev/null || true")
    assert "libtcmalloc_minimal" in maps
    # glibc's malloc takes over 50,000 in each (docs/performance.md).
    assert lines[-1]["minor_faults"] < 10_000


def test_what_it_writes_is_json_line_by_line_except_for_the_runtimes_own(image: str, photo: bytes) -> None:
    with Sandbox(image).running() as function:
        function.invoke(post("/convert", photo, "image/jpeg", {"size": "64"}))
        function.invoke(post("/convert", b"no picture", "image/jpeg", {}))
        log = function.log()
    runtimes = ("START RequestId", "END RequestId", "REPORT RequestId", "INIT_START", "EXTENSION", "INIT_REPORT")
    ours = [
        line
        for line in log
        if not line.startswith(runtimes) and "[INFO] (rapid)" not in line and "rapid" not in line
    ]
    assert [json.loads(line)["event"] for line in ours] == ["init", "conversion", "conversion"]


def png_that_claims(width: int, height: int) -> bytes:
    """A PNG whose header claims this, with a few bytes of data (PNG specification, 11.2.2)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 64)) + chunk(b"IEND", b"")


def test_photos_that_would_not_fit_into_memory_are_refused_before_they_are_decoded(image: str) -> None:
    bomb = cv2.imencode(".png", np.zeros((20_000, 20_000, 3), np.uint8), [cv2.IMWRITE_PNG_COMPRESSION, 9])[
        1
    ].tobytes()
    assert len(bomb) < 4_500_000  # 1.2 GB unpacked
    with Sandbox(image).running() as function:
        for photo in (png_that_claims(60_000, 60_000), bomb):
            answer = function.invoke(post("/convert", photo, "image/png", {}))
            assert (answer["statusCode"], body(answer)["code"]) == (413, "too_many_pixels")
        lines = function.log_lines("conversion")
    assert all("DecodeDuration" not in line for line in lines)
    assert lines[-1]["MaxMemoryUsed"][0] < 600


def test_the_largest_photo_that_is_taken_fits_into_the_smallest_size(image: str) -> None:
    large = cv2.imencode(".jpg", np.full((7000, 7000, 3), 90, np.uint8))[1].tobytes()  # 49 of 50 million pixels
    with Sandbox(image).running() as function:
        answer = function.invoke(post("/convert", large, "image/jpeg", {"size": "256"}))
        (line,) = function.log_lines("conversion")
    assert answer["statusCode"] == 200
    assert line["MaxMemoryUsed"][0] < SMALL.memory_mb


def test_a_process_that_is_killed_in_the_middle_of_a_conversion_breaks_nothing(image: str, photo: bytes) -> None:
    event = post("/convert", photo, "image/jpeg", {"size": "64"})
    with Sandbox(image).running() as function:
        assert function.invoke(event)["statusCode"] == 200
        docker("exec", "--user", "0", function.id, "sh", "-c", KILL_SOON)
        with pytest.raises((BadRequest, KeyError, AssertionError)):
            assert function.invoke(post("/convert", photo, "image/jpeg", {"size": "800"}))["statusCode"] == 200
        assert function.invoke(event)["statusCode"] == 200


# In the background, 0.3 s from now: the runtime's Python, which is the child of the emulator.
KILL_SOON = """
(sleep 0.3; for p in /proc/[0-9]*; do grep -q awslambdaric $p/cmdline 2>/dev/null && grep -q python3 $p/comm \
    && kill -9 ${p#/proc/}; done) >/dev/null 2>&1 &
"""
