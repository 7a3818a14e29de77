"""Clients that leave while their conversion waits for its turn, on a real uvicorn."""

from __future__ import annotations

import gc
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import httpx
import pytest
import uvicorn

from handler.api import create_app
from handler.convert import Conversion, ConversionRequest
from handler.converter import Converter
from handler.errors import Busy
from handler.generator import Styles
from handler.lines import Caller
from handler.metrics import LogLines
from handler.settings import Settings
from handler.slots import Slots

CONCURRENCY, QUEUE = 2, 6
JPEG = {"Content-Type": "image/jpeg"}


class Gated(Converter):
    """A converter that is at work while its gate is shut, and counts what it began."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, Styles(settings.styles_dir, "float32"), LogLines(1, 1))
        self.begun, self.gate = 0, threading.Event()

    def __call__(self, request: ConversionRequest, caller: Caller, queued: float = 0.0) -> Conversion:
        self.begun += 1
        assert self.gate.wait(20)
        return Conversion(b"done", "png", 1, 1, request.style, {"total": 1.0}, ())


class Counted(Slots):
    """Slots that tell how many are taken."""

    @property
    def taken(self) -> int:
        return self._inside


@pytest.fixture
def gated(settings: Settings) -> Gated:
    return Gated(settings)


@pytest.fixture
def slots() -> Counted:
    return Counted(CONCURRENCY, QUEUE)


@pytest.fixture
def server(gated: Gated, slots: Counted) -> uvicorn.Server:
    return uvicorn.Server(uvicorn.Config(create_app(gated, slots), lifespan="off", log_level="warning"))


@pytest.fixture
def port(gated: Gated, server: uvicorn.Server) -> Iterator[int]:
    sock = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([sock],))
    thread.start()
    yield sock.getsockname()[1]
    gated.gate.set()
    server.should_exit = True
    thread.join(20)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.005)


def asking(port: int, photo: bytes) -> socket.socket:
    """A client that has sent its photo and reads nothing."""
    head = f"POST /convert HTTP/1.1\r\nHost: x\r\nContent-Type: image/jpeg\r\nContent-Length: {len(photo)}\r\n\r\n"
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(head.encode() + photo)
    return client


def occupy(port: int, photo: bytes, gated: Gated) -> list[socket.socket]:
    clients = [asking(port, photo) for _ in range(CONCURRENCY)]
    until(lambda: gated.begun == CONCURRENCY)
    return clients


def test_clients_that_leave_in_the_queue_free_their_places_and_are_never_converted(
    port: int, gated: Gated, slots: Counted, photo: bytes
) -> None:
    staying = occupy(port, photo, gated)
    for _ in range(5):
        leaving = [asking(port, photo) for _ in range(QUEUE)]
        until(lambda: slots.taken == CONCURRENCY + QUEUE)
        for client in leaving:
            client.close()
        until(lambda: slots.taken == CONCURRENCY)
    assert gated.begun == CONCURRENCY
    gated.gate.set()
    assert all(client.recv(99).startswith(b"HTTP/1.1 200 ") for client in staying)
    until(lambda: slots.taken == 0)
    assert gated.begun == CONCURRENCY


def test_after_many_have_left_it_serves_as_many_at_once_as_before(
    port: int, gated: Gated, slots: Counted, photo: bytes
) -> None:
    for client in (first := occupy(port, photo, gated)) + [asking(port, photo) for _ in range(QUEUE)]:
        until(lambda: slots.taken >= len(first))
        client.close()
    gated.gate.set()
    until(lambda: slots.taken == 0)
    gated.gate.clear()
    url = f"http://127.0.0.1:{port}"
    with ThreadPoolExecutor(CONCURRENCY + QUEUE + 1) as pool:
        answers = [
            pool.submit(httpx.post, f"{url}/convert", content=photo, headers=JPEG, timeout=20)
            for _ in range(CONCURRENCY + QUEUE)
        ]
        until(lambda: slots.taken == CONCURRENCY + QUEUE)
        assert httpx.post(f"{url}/convert", content=photo, headers=JPEG).json()["code"] == "busy"
        assert httpx.get(f"{url}/health").json()["status"] == "ok"
        gated.gate.set()
        assert [answer.result().status_code for answer in answers] == [200] * (CONCURRENCY + QUEUE)


def test_a_conversion_under_way_goes_on_without_its_client(
    port: int, gated: Gated, slots: Counted, photo: bytes
) -> None:
    for client in occupy(port, photo, gated):
        client.close()
    time.sleep(0.1)
    assert slots.taken == CONCURRENCY
    gated.gate.set()
    until(lambda: slots.taken == 0)


def test_a_server_that_is_stopped_at_once_tells_who_waits_to_come_back(
    port: int, gated: Gated, slots: Counted, server: uvicorn.Server, photo: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    clients = [*occupy(port, photo, gated), asking(port, photo)]
    until(lambda: slots.taken == len(clients))
    server.force_exit = server.should_exit = True  # as a second Ctrl-C does
    for client in clients:
        answer = client.recv(2000)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in answer
    assert "Traceback" not in caplog.text
    gated.gate.set()
    until(lambda: slots.taken == 0)
    assert gated.begun == CONCURRENCY


def test_cancelled_work_gives_its_place_to_others_and_its_photo_back() -> None:
    class Work:
        def __call__(self, queued: float) -> None:
            """Nothing."""

    slots, gate = Slots(concurrency=1, max_queue=1), threading.Event()
    running = slots.submit(lambda queued: gate.wait(10))
    kept: list[weakref.ref[Work]] = []
    for _ in range(3):
        work = Work()
        kept.append(weakref.ref(work))
        waiting: Future[None] = slots.submit(work)
        with pytest.raises(Busy):
            slots.submit(work)
        del work
        assert waiting.cancel()
    gc.collect()
    assert [one() for one in kept] == [None] * 3
    assert not running.cancel()
    gate.set()
    assert running.result(10)
