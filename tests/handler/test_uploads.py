"""POST /uploads and GET /uploads/{id} as a client would use them, against moto's server."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from fastapi import FastAPI

from handler.api import create_app
from handler.converter import Converter
from handler.metrics import LogLines
from handler.settings import Settings
from handler.slots import Slots
from handler.storage import storage
from tests import s3_events as events
from tests.handler.s3_fakes import Bucket, Negatives, answer, photo, pixels
from tests.s3_server import Fault, Proxy


class Http:
    """A client of the application, without a server between."""

    def __init__(self, app: FastAPI) -> None:
        self._transport = httpx.ASGITransport(app)

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://function") as client:
                return await client.request(method, path, **more)

        return asyncio.run(send())

    def get(self, path: str) -> httpx.Response:
        return self.request("GET", path)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.request("POST", path, **more)


@pytest.fixture
def bucket(s3_endpoint: str) -> Iterator[Bucket]:
    storage.cache_clear()  # so that the client is made of the environment as it is now
    made = Bucket(s3_endpoint)
    made.settings["upload_bucket"] = made.name
    yield made
    storage.cache_clear()


def client(**settings: Any) -> Http:
    converter = Converter(Settings(**settings), Negatives(), LogLines(vcpus=1, threads=1))  # type: ignore[arg-type]
    return Http(create_app(converter, Slots(1, 1)))


@pytest.fixture
def http(bucket: Bucket) -> Http:
    return client(upload_bucket=bucket.name, max_input_bytes=5000)


def send(form: dict[str, Any], data: bytes) -> httpx.Response:
    return httpx.post(form["url"], data=form["fields"], files={"file": ("photo", data)})


def begin(http: Http, **body: Any) -> dict[str, Any]:
    said = http.post("/uploads", json={"content_type": "image/jpeg", **body})
    assert said.status_code == 201, said.text
    form: dict[str, Any] = said.json()
    return form


def policy(form: dict[str, Any]) -> Any:
    return json.loads(base64.b64decode(form["fields"]["policy"]))["conditions"]


def arrive(bucket: Bucket, form: dict[str, Any]) -> None:
    """What S3's notification makes the function do."""
    answer(bucket.events(), events.notification(form["fields"]["key"], bucket=bucket.name))


def test_a_photo_is_uploaded_converted_and_linked(http: Http, bucket: Bucket) -> None:
    form = begin(http, style="ink", size=24, format="webp")
    where = form["status_url"]
    assert where == f"/uploads/{form['id']}"
    assert http.get(where).json() == {"id": form["id"], "status": "waiting"}
    assert send(form, photo()).status_code in (200, 204)
    assert http.get(where).json()["status"] == "converting"
    arrive(bucket, form)
    done = http.get(where).json()
    assert done["status"] == "done"
    picture = httpx.get(done["url"])
    assert picture.headers["content-type"] == "image/webp"
    assert pixels(picture.content).shape == (16, 24, 3)


def test_a_photo_that_cannot_be_converted_ends_as_failed_with_its_reason(http: Http, bucket: Bucket) -> None:
    form = begin(http)
    send(form, b"This is no photo.")
    arrive(bucket, form)
    said = http.get(form["status_url"]).json()
    assert (said["status"], said["code"]) == ("failed", "unsupported_format")
    assert said["detail"]


def test_the_form_is_bound_to_type_size_key_and_parameters(http: Http) -> None:
    form = begin(http, content_type="image/png", style="ink")
    conditions = policy(form)
    assert ["content-length-range", 1, 5000] in conditions
    assert {"Content-Type": "image/png"} in conditions
    assert {"key": f"uploads/{form['id']}/photo"} in conditions
    options = next(c["x-amz-meta-animegan-options"] for c in conditions if "x-amz-meta-animegan-options" in c)
    assert json.loads(options) == {
        "style": "ink",
        "format": "png",
        "quality": 92,
        "upscale": False,
        "side_by_side": False,
        "face": False,
    }
    assert form["expires_in"] == 300


def test_the_style_is_that_of_the_time_when_the_form_was_given_out(http: Http, bucket: Bucket) -> None:
    form = begin(http)
    send(form, photo())
    answer(bucket.events(style="ink"), events.notification(form["fields"]["key"], bucket=bucket.name))
    assert bucket.keys("anime/") == {f"anime/uploads/{form['id']}/photo.cel.jpg"}


@pytest.mark.parametrize("later", [{"max_side": 2048}, {"style": "ink"}])
def test_what_is_done_stays_done_when_the_settings_change(
    http: Http, bucket: Bucket, later: dict[str, Any]
) -> None:
    form = begin(http)
    send(form, photo())
    arrive(bucket, form)
    said = client(upload_bucket=bucket.name, **later).get(form["status_url"]).json()
    assert said["status"] == "done"


def test_without_the_right_to_list_it_is_waiting_or_converting(
    bucket: Bucket, faulty: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", faulty.url)
    denied = client(upload_bucket=bucket.name)
    form = begin(denied)
    faulty.faults = [Fault("HEAD", "uploads/", times=2, status=403)]  # of photo and bucket
    assert denied.get(form["status_url"]).json()["status"] == "waiting"
    bucket.put(form["fields"]["key"], photo())
    faulty.faults = [Fault("HEAD", "anime/", times=2, status=403)]  # of picture and report
    assert denied.get(form["status_url"]).json()["status"] == "converting"


def test_ids_are_unguessable_and_others_are_not_found(http: Http) -> None:
    ids = {begin(http)["id"] for _ in range(5)}
    assert len(ids) == 5
    assert {len(id) for id in ids} == {32}
    for wrong in ("1", "%2E%2E", "x" * 32, "A" * 32, "../../photo", "0" * 33):
        assert http.get(f"/uploads/{wrong}").status_code == 404


@pytest.mark.parametrize("body", [{}, {"content_type": "text/html"}, {"content_type": "image/jpeg", "size": 0}])
def test_a_wrong_wish_is_told_before_anything_is_uploaded(http: Http, body: dict[str, Any]) -> None:
    said = http.post("/uploads", json=body)
    assert (said.status_code, said.json()["code"]) == (422, "invalid_parameter")


def test_an_unknown_style_or_a_huge_body_is_refused(http: Http) -> None:
    said = http.post("/uploads", json={"content_type": "image/jpeg", "style": "oil"})
    assert said.json()["code"] == "unknown_style"
    assert http.post("/uploads", content=b"x" * 20_000).json()["code"] == "payload_too_large"
    assert http.post("/uploads", content=b"nonsense").json()["code"] == "invalid_parameter"


@pytest.mark.parametrize(("method", "path"), [("POST", "/uploads"), ("GET", f"/uploads/{'0' * 32}")])
def test_without_a_bucket_for_uploads_the_answer_says_so(method: str, path: str) -> None:
    said = client().request(method, path, json={"content_type": "image/jpeg"})
    assert (said.status_code, said.json()["code"]) == (501, "not_configured")
    assert "UPLOAD_BUCKET" in said.json()["detail"]


def test_a_new_upload_to_the_same_form_is_not_taken_for_the_failed_one(http: Http, bucket: Bucket) -> None:
    form = begin(http)
    send(form, b"This is no photo.")
    arrive(bucket, form)
    send(form, photo())
    arrive(bucket, form)
    assert http.get(form["status_url"]).json()["status"] == "done"


def test_an_upload_for_a_style_that_is_gone_has_failed(http: Http, bucket: Bucket) -> None:
    id = "0" * 32
    bucket.put(f"uploads/{id}/photo", photo(), Metadata={"animegan-options": '{"style": "oil"}'})
    said = http.get(f"/uploads/{id}").json()
    assert (said["status"], said["code"]) == ("failed", "unknown_style")


def test_forms_and_links_have_the_address_of_the_region(monkeypatch: pytest.MonkeyPatch, s3_endpoint: str) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    storage.cache_clear()
    url, _ = storage().form("photos", "uploads/1/photo", {}, 1, 1)
    link = storage().link("photos", "anime/a.jpg", 1)
    storage.cache_clear()
    assert url == "https://photos.s3.eu-central-1.amazonaws.com/"
    assert link.startswith("https://photos.s3.eu-central-1.amazonaws.com/anime/a.jpg?")


def test_a_bucket_that_is_missing_is_told_by_the_name_of_its_setting(bucket: Bucket) -> None:
    said = client(upload_bucket="nobody-has-this-bucket-here").get(f"/uploads/{'0' * 32}")
    assert (said.status_code, said.json()["code"]) == (501, "not_configured")
    assert "UPLOAD_BUCKET" in said.json()["detail"]


def test_a_report_that_is_none_of_ours_is_none(http: Http, bucket: Bucket) -> None:
    id = "0" * 32
    bucket.put(f"uploads/{id}/photo", photo())
    for foreign in (b"no json", b"{}", b"[]", b"[" * 5000):
        bucket.put(f"anime/uploads/{id}/photo.error.json", foreign)
        assert http.get(f"/uploads/{id}").json()["status"] == "converting"


def test_a_photo_whose_own_parameters_are_wrong_has_failed(http: Http, bucket: Bucket) -> None:
    id = "0" * 32
    bucket.put(f"uploads/{id}/photo", photo(), Metadata={"animegan-options": "nonsense"})
    said = http.get(f"/uploads/{id}").json()
    assert (said["status"], said["code"]) == ("failed", "invalid_parameter")


# An environment that boto3 can do nothing with


NO_CREDENTIALS = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}


@pytest.mark.parametrize(
    ("variables", "settings", "expected", "told"),
    [
        (NO_CREDENTIALS, {}, (503, "storage_unavailable"), "Unable to locate credentials"),
        ({}, {"upload_bucket": "a b"}, (502, "storage_refused"), 'Invalid bucket name "a b"'),
        ({"AWS_PROFILE": "nope"}, {}, (501, "not_configured"), "AWS_PROFILE"),
        ({"AWS_ENDPOINT_URL": "garbage"}, {}, (501, "not_configured"), "AWS_ENDPOINT_URL"),
        ({"AWS_DEFAULT_REGION": "a b"}, {}, (501, "not_configured"), "AWS_REGION"),
    ],
)
def test_what_boto3_cannot_work_with_is_told_and_is_no_defect(
    bucket: Bucket,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    variables: dict[str, str | None],
    settings: dict[str, str],
    expected: tuple[int, str],
    told: str,
) -> None:
    none = {"AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "x"), "AWS_CONFIG_FILE": str(tmp_path / "x")}
    for name, value in {**none, **variables}.items():
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # which knows the environment as it was
    http = client(**{"upload_bucket": bucket.name, **settings})
    for said in (
        http.post("/uploads", json={"content_type": "image/png"}),
        http.get(f"/uploads/{'0' * 32}"),
    ):
        assert (said.status_code, said.json()["code"]) == expected
        assert told in said.json()["detail"]
