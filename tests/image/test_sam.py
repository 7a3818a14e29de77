"""The stack under `sam build`, `sam local invoke` and `sam local start-api`; sam is that of make lint-template."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra.http_event import post
from tests.image.conftest import ROOT, pixels

LOCAL = ("--parameter-overrides", "Trigger=NONE", "--skip-pull-image")
START_S = 120


@pytest.fixture(scope="module")
def built(image: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built template. Only paths and the base image are changed, since the AWS image may not be had here."""
    if not shutil.which("sam"):
        pytest.skip("sam is not on the PATH; make test-image puts it there")
    folder = tmp_path_factory.mktemp("sam")
    base = os.environ["ANIMEGAN_TEST_BASE"]
    context = f"DockerContext: {ROOT}\n      DockerBuildArgs: {{BASE_IMAGE: '{base}'}}"
    text = (ROOT / "template.yaml").read_text()
    assert "DockerContext: .\n" in text
    text = text.replace("DockerContext: .", context).replace("Location: infra/", f"Location: {ROOT}/infra/")
    (folder / "template.yaml").write_text(text)
    sam(folder, "build", "--template", folder / "template.yaml", "--build-dir", folder / "built")
    subprocess.run([ROOT / "infra/local-template", folder / "built"], check=True)
    return folder / "built" / "local.yaml"


def sam(folder: Path, *arguments: object) -> str:
    done = subprocess.run(
        ["sam", *map(str, arguments)], cwd=folder, env=environment(), capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def environment() -> dict[str, str]:
    keys = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_DEFAULT_REGION": "eu-central-1"}
    return {**os.environ, **keys, "SAM_CLI_TELEMETRY": "0"}


def test_sam_local_invoke_answers_an_event_with_a_picture(built: Path, photo: bytes, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps(post("/convert", photo, "image/jpeg", {"size": "256", "format": "png"})))
    said = sam(tmp_path, "local", "invoke", "--template", built, "--event", event, *LOCAL)
    answer = json.loads(said[said.index('{"statusCode"') :].splitlines()[0])
    assert answer["statusCode"] == 200
    assert pixels(base64.b64decode(json.loads(answer["body"])["image"])).shape == (256, 256, 3)


@contextmanager
def api(built: Path, folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        "sam",
        "local",
        "start-api",
        "--template",
        built,
        "--port",
        str(port),
        "--warm-containers",
        "LAZY",
        *LOCAL,
    ]
    log = (folder / "log").open("w")
    server = subprocess.Popen(command, cwd=folder, env=environment(), stdout=log, stderr=log)
    try:
        end = time.monotonic() + START_S
        while "Running on" not in (folder / "log").read_text():
            assert server.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < end, (folder / "log").read_text()
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def test_sam_local_start_api_takes_a_photo_and_gives_a_picture(built: Path, photo: bytes, tmp_path: Path) -> None:
    with api(built, tmp_path) as url:
        headers = {"Content-Type": "image/jpeg", "Accept": "image/png"}
        request = urllib.request.Request(f"{url}/convert?size=256", photo, headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert answer.headers["Content-Type"] == "image/png"
            assert "inference;dur=" in answer.headers["Server-Timing"]
            assert pixels(answer.read()).shape == (256, 256, 3)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(f"{url}/convert", b"no picture", headers), timeout=120)
        assert (refused.value.code, json.load(refused.value)["code"]) == (415, "unsupported_format")
        with urllib.request.urlopen(f"{url}/", timeout=120) as page:
            html = page.read().decode()
        for file in re.findall(r'(?:href|src)="(static/[^"]+)"', html):
            with urllib.request.urlopen(f"{url}/{file}", timeout=120) as served:
                assert served.read() == (ROOT / "handler" / "static" / file.rpartition("/")[2]).read_bytes()
        with urllib.request.urlopen(f"{url}/health", timeout=120) as health:
            assert json.load(health)["status"] == "ok"
