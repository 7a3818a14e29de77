from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests.infra.conftest import CLI, Environment, Run, picture


@dataclass
class Server:
    process: subprocess.Popen[str]
    url: str


@pytest.fixture
def server(environment: Environment) -> Iterator[Server]:
    process = subprocess.Popen(
        [*CLI, "serve", "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert process.stderr
    match = None
    for line in process.stderr:
        if match := re.search(r"serving on (http://127\.0\.0\.1:\d+) ", line):
            break
    assert match, "it did not start"
    yield Server(process, match[1])
    process.kill()
    process.communicate()


def test_the_same_routes_are_served_and_the_log_line_goes_to_stdout(server: Server) -> None:
    health = httpx.get(f"{server.url}/health", timeout=60)
    assert health.json()["status"] == "ok"
    photo = picture("jpg", 120, 80)
    headers = {"content-type": "image/jpeg", "accept": "image/*"}
    answer = httpx.post(f"{server.url}/convert?format=webp", content=photo, headers=headers, timeout=60)
    assert answer.status_code == 200
    assert answer.content.startswith(b"RIFF")
    refused = httpx.post(f"{server.url}/convert", content=b"no photo", headers=headers, timeout=60)
    assert refused.status_code == 415
    server.process.send_signal(signal.SIGTERM)
    out, err = server.process.communicate(timeout=60)
    emf = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert [line["Source"] for line in emf] == ["init", "server", "server"]
    assert '"POST /convert?format=webp HTTP/1.1" 200' in out + err
    assert "Traceback" not in err


def test_ctrl_c_lets_the_conversion_under_way_finish(server: Server) -> None:
    answers: list[int] = []
    headers = {"content-type": "image/jpeg"}

    def ask() -> None:
        photo = picture("jpg", 1000, 1000)
        answers.append(
            httpx.post(f"{server.url}/convert", content=photo, headers=headers, timeout=120).status_code
        )

    httpx.get(f"{server.url}/health", timeout=60)
    client = threading.Thread(target=ask)
    client.start()
    client.join(0.5)
    server.process.send_signal(signal.SIGINT)
    client.join()
    _, err = server.process.communicate(timeout=60)
    assert answers == [200]
    assert server.process.returncode == 0
    assert "Traceback" not in err


def test_a_port_in_use_is_one_line_before_anything_is_loaded(animegan: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = animegan("serve", "--port", port)
    assert done.returncode == 1
    assert done.stderr == (
        f"animegan: cannot listen on 127.0.0.1 port {port}: Address already in use; "
        "choose another with --host and --port\n"
    )


def test_an_unknown_host_is_one_line(animegan: Run) -> None:
    done = animegan("serve", "--host", "no.such.host.invalid")
    assert done.returncode == 1
    assert done.stderr.startswith("animegan: cannot listen on no.such.host.invalid port 8000: ")
    assert len(done.stderr.splitlines()) == 1
