"""The HTTP contract, through lambda_handler's own dispatch and as a plain ASGI application."""

from __future__ import annotations

import base64
import json
import threading
import time
from typing import Any

import cv2
import httpx
import numpy as np
import pytest

from handler.accept import wanted_image
from handler.api import create_app
from handler.convert import Conversion, ConversionRequest
from handler.converter import Converter
from handler.function import Function
from handler.generator import Styles
from handler.lines import Caller
from handler.metrics import LogLines
from handler.settings import Settings
from handler.slots import Slots

STAGES = ("decode", "preprocess", "inference", "postprocess", "encode", "total")


@pytest.fixture
def client(function: Function) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(function.app)
    return httpx.AsyncClient(transport=transport, base_url="http://function")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


pytestmark = pytest.mark.anyio


def pixels(data: bytes) -> Any:
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)


def encoded(photo: bytes) -> str:
    return base64.b64encode(photo).decode()


async def test_json_in_gives_json_out_with_the_picture_and_its_description(
    client: httpx.AsyncClient, photo: bytes
) -> None:
    answer = await client.post("/convert", json={"image": encoded(photo)})
    said = answer.json()
    assert answer.status_code == 200
    assert (said["format"], said["width"], said["height"], said["style"]) == ("jpeg", 96, 64, "cel")
    assert pixels(base64.b64decode(said["image"])).shape == (64, 96, 3)
    assert set(STAGES) <= set(said["timings"])
    assert said["warnings"] == []


async def test_an_image_body_and_accept_image_give_the_picture_itself(
    client: httpx.AsyncClient, photo: bytes
) -> None:
    headers = {"Content-Type": "image/jpeg", "Accept": "image/*"}
    answer = await client.post("/convert?format=png&size=48", content=photo, headers=headers)
    assert answer.headers["content-type"] == "image/png"
    assert pixels(answer.content).shape == (32, 48, 3)


async def test_a_multipart_form_takes_the_parameters_as_fields(client: httpx.AsyncClient, photo: bytes) -> None:
    fields = {"format": "webp", "side_by_side": "true"}
    answer = await client.post("/convert", files={"file": ("me.jpg", photo, "image/jpeg")}, data=fields)
    said = answer.json()
    assert (said["format"], said["width"], said["height"]) == ("webp", 192, 64)


async def test_the_same_photo_gives_the_same_picture_by_every_way_in(
    client: httpx.AsyncClient, photo: bytes
) -> None:
    by_json = await client.post("/convert", json={"image": encoded(photo), "format": "png"})
    by_uri = await client.post(
        "/convert", json={"image": f"data:image/jpeg;base64,{encoded(photo)}", "format": "png"}
    )
    by_form = await client.post("/convert", files={"file": photo}, data={"format": "png"})
    by_body = await client.post(
        "/convert?format=png", content=photo, headers={"Content-Type": "image/jpeg", "Accept": "image/png"}
    )
    pictures = {base64.b64decode(answer.json()["image"]) for answer in (by_json, by_uri, by_form)}
    assert pictures == {by_body.content}


async def test_every_answer_has_server_timing_and_a_request_id(client: httpx.AsyncClient, photo: bytes) -> None:
    good = await client.post("/convert", content=photo, headers={"Content-Type": "image/jpeg"})
    names = [metric.partition(";dur=")[0] for metric in good.headers["server-timing"].split(", ")]
    assert [name for name in names if name != "queue"] == list(STAGES)
    bad = await client.post("/convert", content=photo[:300], headers={"Content-Type": "image/jpeg"})
    assert bad.headers["server-timing"].split(";")[0] in ("queue", "decode")
    others = [await client.get(path) for path in ("/health", "/styles", "/nowhere", "/docs")]
    for answer in (good, bad, *others):
        assert "total;dur=" in answer.headers["server-timing"]
        assert len(answer.headers["x-request-id"]) == 36


async def test_a_request_id_is_taken_over_only_when_it_is_sane(client: httpx.AsyncClient) -> None:
    sane = await client.get("/health", headers={"X-Request-Id": "trace-1:2/3"})
    wild = await client.get("/health", headers={"X-Request-Id": 'x"} {"level": "fake'})
    assert sane.headers["x-request-id"] == "trace-1:2/3"
    assert "fake" not in wild.headers["x-request-id"]


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PROBLEMS = [
    ({"json": {"image": "@@@"}}, 400, "invalid_base64"),
    ({"json": {"image": "data:image/png,AAAA"}}, 400, "invalid_base64"),
    ({"json": {"image": ""}}, 400, "empty_image"),
    ({"json": {}}, 400, "empty_image"),
    ({"content": b"", "headers": {"Content-Type": "image/png"}}, 400, "empty_image"),
    ({"files": {"photo": b"x"}}, 400, "empty_image"),
    ({"json": {"image": 5}}, 422, "invalid_parameter"),
    ({"json": [1]}, 422, "invalid_parameter"),
    ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 422, "invalid_parameter"),
    ({"content": b"[" * 100_000, "headers": {"Content-Type": "application/json"}}, 422, "invalid_parameter"),
    ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 422, "invalid_parameter"),
    ({"content": b"hello", "headers": {"Content-Type": "image/png"}}, 415, "unsupported_format"),
    ({"content": b"\xef\xbf\xbdPNG", "headers": {"Content-Type": "image/png"}}, 415, "unsupported_format"),
    ({"content": b"a=b", "headers": FORM}, 415, "unsupported_format"),
]


@pytest.mark.parametrize(("request_", "status", "code"), PROBLEMS, ids=lambda value: str(value)[:40])
async def test_bad_requests_are_problems_with_a_stable_code(
    client: httpx.AsyncClient, request_: dict[str, Any], status: int, code: str
) -> None:
    answer = await client.post("/convert", **request_)
    said = answer.json()
    assert (answer.status_code, said["status"], said["code"]) == (status, status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert said["title"]
    assert said["detail"]
    assert "Traceback" not in answer.text


PARAMETERS = [
    ("size=0", "size=0"),
    ("size=ten", "size=ten"),
    ("size=5000", "MAX_SIDE"),
    ("quality=101", "quality=101"),
    ("format=gif", "format=gif"),
    ("sise=10", "sise: Extra"),
    ("face=maybe", "face=maybe"),
]


@pytest.mark.parametrize(("query", "named"), PARAMETERS)
async def test_a_wrong_parameter_is_named(client: httpx.AsyncClient, photo: bytes, query: str, named: str) -> None:
    answer = await client.post(f"/convert?{query}", content=photo, headers={"Content-Type": "image/jpeg"})
    assert answer.json()["code"] == "invalid_parameter"
    assert named in answer.json()["detail"]


async def test_an_unknown_style_is_answered_with_those_that_there_are(
    client: httpx.AsyncClient, photo: bytes
) -> None:
    answer = await client.post("/convert", json={"image": encoded(photo), "style": "oil"})
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_style")
    assert "cel" in answer.json()["detail"]


async def test_a_body_over_the_limit_is_not_read_to_its_end(function: Function, settings: Settings) -> None:
    app = _app(settings.model_copy(update={"max_input_bytes": 1000}))
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while True:
            sent += 65_536
            yield b"\xff" * 65_536

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://function") as client:
        for kind in ("image/jpeg", "application/json"):
            answer = await client.post("/convert", content=endless(), headers={"Content-Type": kind})
            assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")
    assert sent < 10 * 65_536


def _app(settings: Settings, converter: Any = None, slots: Slots | None = None) -> Any:
    styles = Styles(settings.styles_dir, "float32")
    return create_app(converter or Converter(settings, styles, LogLines(1, 1)), slots or Slots(1, 0))


class Blocked(Converter):
    """A converter that is at work until it is let go."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, Styles(settings.styles_dir, "float32"), LogLines(1, 1))
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, request: ConversionRequest, caller: Caller, queued: float = 0.0) -> Conversion:
        self.begun.set()
        assert self.go_on.wait(10)
        return Conversion(b"", "png", 1, 1, request.style, {"total": 1.0}, ())


async def test_health_answers_and_others_are_told_to_come_back_while_a_conversion_runs(
    settings: Settings, photo: bytes
) -> None:
    import anyio

    blocked = Blocked(settings)
    transport = httpx.ASGITransport(_app(settings, blocked))
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://function") as client,
        anyio.create_task_group() as tasks,
    ):
        headers = {"Content-Type": "image/jpeg"}
        tasks.start_soon(lambda: client.post("/convert", content=photo, headers=headers))
        await anyio.to_thread.run_sync(blocked.begun.wait)
        health = await client.get("/health")
        busy = await client.post("/convert", content=photo, headers=headers)
        blocked.go_on.set()
    assert health.json()["status"] == "ok"
    assert (busy.status_code, busy.json()["code"]) == (503, "busy")
    assert int(busy.headers["retry-after"]) >= 1


class Broken(Blocked):
    def __call__(self, request: ConversionRequest, caller: Caller, queued: float = 0.0) -> Conversion:
        raise ZeroDivisionError("secret detail")


async def test_a_defect_is_a_500_without_details(settings: Settings, photo: bytes) -> None:
    transport = httpx.ASGITransport(_app(settings, Broken(settings)))
    async with httpx.AsyncClient(transport=transport, base_url="http://function") as client:
        answer = await client.post("/convert", content=photo, headers={"Content-Type": "image/jpeg"})
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "secret" not in answer.text
    assert answer.headers["x-request-id"] in answer.json()["detail"]


async def test_styles_and_health_describe_what_runs(client: httpx.AsyncClient) -> None:
    styles = (await client.get("/styles")).json()
    assert styles["default"] == "cel"
    assert styles["styles"][0]["licence"].startswith("MIT")
    assert styles["styles"][0]["precision"] == "float32"
    assert styles["faces"] is False  # as there is no detector
    health = (await client.get("/health")).json()
    assert health["styles"] == {"cel": styles["styles"][0]["digest"]}
    assert health["uptime_s"] >= 0


async def test_the_api_describes_itself(client: httpx.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    convert = document["paths"]["/convert"]["post"]
    assert set(convert["requestBody"]["content"]) == {"application/json", "image/*", "multipart/form-data"}
    assert {parameter["name"] for parameter in convert["parameters"]} >= {"size", "format", "quality", "style"}
    assert set(convert["responses"]["200"]["content"]) == {"application/json", "image/*"}
    upload = document["paths"]["/uploads"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "content_type" in upload["required"]


async def test_other_routes_and_methods_are_problems_too(client: httpx.AsyncClient) -> None:
    lost, wrong = await client.get("/nowhere"), await client.get("/convert")
    assert (lost.status_code, lost.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "POST"


async def test_warnings_travel_with_both_kinds_of_answer(client: httpx.AsyncClient, photo: bytes) -> None:
    headers = {"Content-Type": "image/jpeg"}
    as_json = await client.post("/convert?size=900", content=photo, headers=headers)
    as_image = await client.post("/convert?size=900", content=photo, headers={**headers, "Accept": "image/*"})
    assert "upscale" in as_json.json()["warnings"][0]
    assert "upscale" in as_image.headers["x-warnings"]
    larger = await client.post("/convert?size=128&upscale=true", content=photo, headers=headers)
    assert (larger.json()["width"], larger.json()["height"]) == (128, 85)  # 64 · 128 / 96 = 85.3


async def test_conversions_at_once_wait_for_each_other_and_say_how_long(
    settings: Settings, photo: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    import anyio

    transport = httpx.ASGITransport(_app(settings, slots=Slots(1, 8)))
    timings: list[dict[str, float]] = []
    async with httpx.AsyncClient(transport=transport, base_url="http://function") as client:

        async def convert() -> None:
            answer = await client.post("/convert", json={"image": encoded(photo)})
            timings.append(answer.json()["timings"])

        begun = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(convert)
        elapsed = (time.perf_counter() - begun) * 1000
    queued = sorted(timing.get("queue", 0.0) for timing in timings)
    alone = sorted(timing["total"] - timing.get("queue", 0.0) for timing in timings)
    assert queued[-1] >= alone[0] * 2  # the last waited for three others
    assert sum(alone) <= elapsed * 1.05  # nothing ran at the same time
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(line.get("QueueDuration", [0.0])[0] for line in lines) == pytest.approx(queued, abs=0.1)


async def test_the_whole_body_limit_leaves_room_for_the_parameters(settings: Settings, photo: bytes) -> None:
    exact = settings.model_copy(update={"max_input_bytes": len(photo)})
    transport = httpx.ASGITransport(_app(exact, slots=Slots(1, 1)))
    async with httpx.AsyncClient(transport=transport, base_url="http://function") as client:
        fits = await client.post("/convert", json={"image": encoded(photo), "size": 32})
        over = await client.post("/convert", json={"image": encoded(photo + b"x"), "size": 32})
    assert fits.status_code == 200
    assert (over.status_code, over.json()["code"]) == (413, "payload_too_large")


async def test_a_client_that_goes_away_in_the_middle_is_no_defect(
    function: Function, photo: bytes, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    messages = [{"type": "http.request", "body": photo[:50], "more_body": True}, {"type": "http.disconnect"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-type", b"image/jpeg")]
    scope = {"type": "http", "method": "POST", "path": "/convert", "headers": headers, "query_string": b""}
    await function.app(scope, receive, send)
    assert sent == []
    assert "Traceback" not in caplog.text
    assert "defect" not in caplog.text + capsys.readouterr().out


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", (False, None)),
        ("*/*", (False, None)),
        ("application/json, text/plain, */*", (False, None)),
        ("image/*", (True, None)),
        ("image/webp", (True, "webp")),
        ("image/avif;q=0.9, image/png;q=0.5, image/jpeg;q=0.8", (True, "jpeg")),
        ("text/html, image/avif, image/webp, */*;q=0.8", (True, None)),
        ("application/json, image/png", (False, None)),
        ("application/json;q=0.5, image/png", (True, "png")),
        ("image/png;q=0", (False, None)),
        ("image/png;q=high", (False, None)),
        ("image/tiff", (True, None)),
    ],
)
def test_accept_decides_between_json_and_a_picture(accept: str, expected: tuple[bool, str | None]) -> None:
    assert wanted_image(accept) == expected


AS_JSON = {"Content-Type": "application/json"}
ODD_CHARSET = {"Content-Type": "multipart/form-data; boundary=b; charset=undefined"}
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n'
HOSTILE = [
    ({"content": b'{"image": "AAAA", "format": "\\ud800"}', "headers": AS_JSON}, "format"),
    ({"content": b'{"image": "AAAA", "\\udfff": 1}', "headers": AS_JSON}, "valid string"),
    ({"content": PART, "headers": ODD_CHARSET}, "charset"),
]


@pytest.mark.parametrize(("request_", "named"), HOSTILE)
async def test_text_that_cannot_be_encoded_or_decoded_is_a_422(
    client: httpx.AsyncClient, request_: dict[str, Any], named: str
) -> None:
    answer = await client.post("/convert", **request_)
    assert answer.status_code in (400, 422)
    assert named in answer.json()["detail"]


async def test_a_flood_of_parameters_gets_a_short_answer(client: httpx.AsyncClient) -> None:
    flood = {f"key{number}": number for number in range(50_000)}
    answer = await client.post("/convert", json={"image": "AAAA", **flood})
    assert answer.status_code == 422
    assert len(answer.content) < 2_000
