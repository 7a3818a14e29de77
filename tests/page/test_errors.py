"""What the page says when it doesn't work, and how it goes on from there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.page.conftest import ROOT, Visit


def said(here: Visit) -> tuple[str, str]:
    here.until("failed")
    return here.page.get_attribute("#problem", "data-code"), here.text("#problem-title")


def answer(here: Visit, status: int, document: Any, **headers: str) -> None:
    """What the next conversion gets, as from a gateway that is not this function's."""
    more = {"status": status, "headers": headers, "content_type": "application/json", "body": json.dumps(document)}
    here.page.route("**/convert", lambda route: route.fulfill(**more), times=1)


def test_text_that_is_called_a_photo_is_told_and_the_next_photo_works(
    visit: Any, server: str, photo: Path, tmp_path: Path
) -> None:
    here = visit(server)
    (tmp_path / "fake.jpg").write_text("This is no photo.")
    here.convert(tmp_path / "fake.jpg", "failed")
    assert said(here) == ("unsupported_format", "That file is no photo that can be read here")
    assert "This is plain text" in here.text("#problem-detail")
    assert here.page.get_by_role("alert").is_visible()
    assert here.page.is_hidden("#retry")  # it would be the same
    assert here.page.is_visible("#drop")
    here.convert(photo)
    assert here.page.is_hidden("#problem")


def test_a_photo_that_is_cut_off_is_told(visit: Any, server: str, photo: Path) -> None:
    cut = photo.with_name("cut.jpg")
    cut.write_bytes(photo.read_bytes()[:-700])
    here = visit(server)
    here.convert(cut, "failed")
    assert said(here) == ("corrupt_image", "That photo is damaged")


def test_an_empty_file_is_told(visit: Any, server: str, tmp_path: Path) -> None:
    (tmp_path / "empty.png").touch()
    here = visit(server)
    here.convert(tmp_path / "empty.png", "failed")
    assert said(here)[0] == "empty_image"


def test_settings_that_the_server_refuses_can_be_changed(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    here.page.evaluate("document.querySelector('#style').append(new Option('Gone', 'gone'))")
    here.page.select_option("#style", "gone")
    here.convert(photo, "failed")
    assert said(here)[0] == "unknown_style"
    here.page.select_option("#style", "cel")
    here.page.click("#again")
    here.until("done")


def test_without_a_connection_it_can_be_tried_again(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    here.page.context.set_offline(True)
    here.convert(photo, "failed")
    assert said(here) == ("unreachable", "The server cannot be reached")
    here.errors.clear()  # Chromium's own line
    here.page.context.set_offline(False)
    here.page.click("#retry")
    here.until("done")


@pytest.mark.parametrize(
    ("status", "document", "code"),
    [
        (403, {"message": "Forbidden"}, "closed"),
        (401, {"message": "Unauthorized"}, "closed"),
        (413, {"message": "Request Entity Too Large"}, "payload_too_large"),
        (429, {"message": "Too Many Requests"}, "busy"),
        (502, "<html>", "unavailable"),
        (503, {"message": "Service Unavailable"}, "unavailable"),
        (504, {"message": "Endpoint request timed out"}, "unavailable"),
        (500, {"message": None}, "unavailable"),
        (200, {}, "not_ours"),
        (200, "<html>", "not_ours"),
        (200, {"image": "@"}, "no_picture"),
        (200, {"image": "bm9uZQ==", "format": "png"}, "no_picture"),
        (418, {}, "unknown"),
        (422, {"code": 5, "detail": [{"msg": "another framework's"}]}, "unknown"),
        (422, {"code": "constructor"}, "constructor"),  # a word that every object of JavaScript has
    ],
)
def test_answers_of_gateways_have_words_too(
    visit: Any, server: str, photo: Path, status: int, document: Any, code: str
) -> None:
    here = visit(server)
    answer(here, status, document)
    here.convert(photo, "failed")
    assert said(here)[0] == code
    words = [here.text(f"#problem-{part}") for part in ("title", "advice", "detail")]
    assert all(words)
    assert "object" not in "".join(words)


BUSY = {"status": 503, "code": "busy", "title": "Too many conversions at once", "detail": "33 conversions wait."}


def test_a_busy_server_is_asked_again_when_it_said_so(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    answer(here, 503, BUSY, **{"Retry-After": "2"})
    here.convert(photo, "busy")
    for seconds in (2, 1):
        here.page.wait_for_selector(f"#phase:text-is('Busy. Trying again in {seconds} s')")
    here.until("done")
    assert sum(url.endswith("/convert") for url in here.requests) == 2


def test_a_server_that_is_busy_for_a_day_is_not_waited_for(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    answer(here, 503, BUSY, **{"Retry-After": "86400"})
    here.convert(photo, "failed")
    assert said(here)[0] == "busy"
    here.page.click("#retry")
    here.until("done")


def test_faces_that_cannot_be_painted_are_told_and_can_be_left_out(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    here.page.evaluate("document.querySelector('#face-row').hidden = false")
    here.page.check("#face")
    here.convert(photo, "failed")
    assert said(here)[0] == "not_configured"
    assert "without painting faces" in here.text("#problem-advice")
    here.page.uncheck("#face")
    here.page.click("#again")
    here.until("done")


def test_the_wait_for_a_busy_server_can_be_cancelled(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    answer(here, 503, BUSY, **{"Retry-After": "60"})
    here.convert(photo, "busy")
    here.page.wait_for_selector("#phase:text-is('Busy. Trying again in 59 s')")
    here.page.click("#cancel")
    here.until("empty")


def test_a_page_whose_server_is_gone_says_so_when_it_opens(visit: Any, server: str, browser: Any) -> None:
    here = visit(server)
    here.page.route("**/styles", lambda route: route.abort())
    here.page.reload()
    assert said(here)[0] == "unreachable"
    here.errors.clear()
    here.page.unroute("**/styles")
    here.page.click("#retry")
    here.until("empty")
    assert here.page.eval_on_selector_all("#style option", "all => all.length") == 1


def documented() -> set[str]:
    table = (ROOT / "README.md").read_text().partition("| status | codes |")[2].partition("\n\n")[0]
    tree = (ROOT / "handler/errors.py").read_text().partition('"""')[2].partition('"""')[0]
    internal = {"unreadable_event"}  # of messages that name no object: never over HTTP
    return {*re.findall(r"`([a-z_0-9]+)`", table), *re.findall(r"\d{3}  ([a-z_0-9]+)", tree)} - internal


def test_every_code_that_is_documented_has_words_of_its_own(visit: Any, server: str) -> None:
    here = visit(server)
    module = next(url for url in here.requests if url.endswith("/messages.js"))
    words = here.page.evaluate(
        """async ([url, codes]) => {
            const { Problem } = await import(url);
            return codes.map((code) => new Problem(code)).map(({ title, advice }) => title + advice);
        }""",
        [module, ["unknown", *(codes := sorted(documented()))]],
    )
    assert len(codes) > 12
    unknown, *known = words
    assert [code for code, text in zip(codes, known, strict=True) if text == unknown] == []
