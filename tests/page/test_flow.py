"""A photo through the page, from every way in to the file that is downloaded."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.page.conftest import Visit, pixels, read, write

PASTE = """async ([data, type, event]) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const held = new DataTransfer();
    held.items.add(new File([bytes], "image.png", { type }));
    if (event === "paste") dispatchEvent(new ClipboardEvent("paste", { clipboardData: held, bubbles: true }));
    else for (const kind of ["dragenter", "dragover", "drop"]) {
        document.querySelector("#drop").dispatchEvent(
            new DragEvent(kind, { dataTransfer: held, bubbles: true, cancelable: true }));
    }
}"""


def download(here: Visit) -> tuple[str, Any]:
    with here.page.expect_download() as begun:
        here.page.click("#download")
    return begun.value.suggested_filename, read(begun.value.path())


def stages(here: Visit) -> dict[str, float]:
    rows = here.page.eval_on_selector_all("#bars li", "all => all.map(e => [e.dataset.stage, e.dataset.ms])")
    return {stage: float(spent) for stage, spent in rows}


def test_a_photo_is_converted_shown_and_downloaded(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    here.convert(photo)
    name, picture = download(here)
    assert name == "at the sea_ 1-cel.jpg"
    assert picture.shape == (160, 240, 3)
    assert here.text("#facts").startswith("240 × 160 px · JPEG")
    assert here.page.inner_text("#status") == "Done. The picture has 240 × 160 px."
    assert here.origins() == {server}


def test_the_bars_are_those_of_server_timing(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    with here.page.expect_response("**/convert") as answered:
        here.convert(photo)
    header = answered.value.header_value("server-timing")
    told = {name: float(spent) for name, spent in re.findall(r"(\w+);dur=([\d.]+)", header)}
    assert {"queue", "decode", "preprocess", "inference", "postprocess", "encode", "total"} == told.keys()
    assert stages(here) == told
    widths = here.page.eval_on_selector_all(
        "#bars .bar", "all => all.map(e => [e.parentNode.dataset.stage, e.style.getPropertyValue('--share')])"
    )
    for stage, width in widths:
        assert float(width.rstrip("%")) == pytest.approx(100 * told[stage] / told["total"])


def test_settings_go_with_the_photo_and_can_be_changed_afterwards(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    here.page.check("input[name=format][value=png]", force=True)
    assert here.page.is_hidden("#quality")
    here.convert(photo)
    assert download(here)[0].endswith("-cel.png")
    assert here.page.is_hidden("#again")
    here.page.check("input[name=format][value=webp]", force=True)
    here.page.fill("#quality", "40")
    here.page.evaluate("document.querySelector('#size').append(new Option('120 px', '120'))")
    here.page.select_option("#size", "120")
    with here.page.expect_request("**/convert") as sent:
        here.page.click("#again")
    asked = sent.value.post_data_json
    assert base64.b64decode(asked.pop("image")) == photo.read_bytes()
    assert asked == {"style": "cel", "size": 120, "format": "webp", "quality": 40}
    here.page.wait_for_selector("#facts:has-text('120 × 80 px')")
    name, picture = download(here)
    assert (name, picture.shape) == ("at the sea_ 1-cel.webp", (80, 120, 3))


def test_sizes_are_those_that_the_server_makes(visit: Any, server: str) -> None:
    here = visit(server)
    assert here.page.eval_on_selector_all("#size option", "all => all.map(e => e.text)") == [
        "As the photo, up to 256 px"
    ]
    assert here.text("#licence") == "Licence: MIT, made by a test"


@pytest.mark.parametrize("event", ["paste", "drop"])
def test_a_photo_comes_in_by_pasting_and_dropping(visit: Any, server: str, tmp_path: Path, event: str) -> None:
    here = visit(server)
    data = write(tmp_path / "x.png", pixels(40, 60)).read_bytes()
    here.page.evaluate(PASTE, [base64.b64encode(data).decode(), "image/png", event])
    here.until("done")
    name, picture = download(here)
    assert name == {"paste": "pasted-cel.png", "drop": "image-cel.png"}[event]
    assert picture.shape == (40, 60, 3)
    assert here.page.is_hidden(".catch")


def test_of_several_photos_the_first_is_taken_and_that_is_said(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    other = write(photo.with_name("other.png"), pixels(40, 60))
    here.page.evaluate("document.querySelector('#file').multiple = true")
    here.page.set_input_files("#file", [photo, other])
    here.until("done")
    assert "240 × 160" in here.text("#facts")
    assert here.text("#notes") == "One photo at a time: the first of 2 was taken."


def test_buttons_open_the_file_dialog_and_the_camera(visit: Any, server: str, photo: Path) -> None:
    here = visit(server, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    assert here.page.get_attribute("#camera", "capture") == "environment"
    for name in ("Take a photo", "Choose a photo"):
        with here.page.expect_file_chooser() as opened:
            here.page.get_by_role("button", name=name).first.click()
        assert opened.value.element.get_attribute("accept").startswith("image/*")
    opened.value.set_files(photo)
    here.until("done")


def test_a_mouse_has_no_camera_button(visit: Any, server: str) -> None:
    here = visit(server)
    assert here.page.get_by_role("button", name="Take a photo").count() == 0
    assert here.text(".ask .big") == "Drop a photo here"


def test_a_photo_on_its_side_stands_upright_on_both_sides(visit: Any, server: str, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    Image.fromarray(pixels(60, 100)).save(tmp_path / "side.jpg", exif=exif)
    here = visit(server)
    here.convert(tmp_path / "side.jpg")
    natural = "all => all.map(e => [e.naturalWidth, e.naturalHeight])"
    sizes = here.page.eval_on_selector_all("#before, #after", natural)
    assert sizes == [[60, 100], [60, 100]]


def test_a_photo_that_the_browser_cannot_show_is_converted_all_the_same(
    visit: Any, server: str, tmp_path: Path
) -> None:
    here = visit(server)
    here.convert(write(tmp_path / "scan.tiff", pixels(50, 70)))
    assert download(here)[1].shape == (50, 70, 3)
    assert here.page.is_hidden("#slider")
    assert here.page.is_hidden("#before")
    assert here.page.evaluate("getComputedStyle(document.querySelector('#after')).clipPath") == "none"


def test_cancelling_leads_back_to_where_it_began(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    held: list[Any] = []
    here.page.route("**/convert", lambda route: held.append(route))  # never answered
    here.convert(photo, "busy")
    here.page.click("#cancel")
    here.until("empty")
    assert here.text("#status") == "Cancelled."
    assert here.page.evaluate("document.activeElement.textContent") == "Choose a photo"
    here.page.unroute("**/convert")
    here.convert(photo)
    here.page.route("**/convert", lambda route: held.append(route))
    here.page.check("input[name=format][value=png]", force=True)
    here.page.click("#again")
    here.until("busy")
    here.page.click("#cancel")
    here.until("done")
    assert download(here)[0].endswith(".jpg")


def test_another_photo_takes_the_place_of_one_under_way(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    held: list[Any] = []
    here.page.route("**/convert", lambda route: held.append(route))
    here.convert(photo, "busy")
    here.page.unroute("**/convert")
    here.page.set_input_files("#file", write(photo.with_name("second.png"), pixels(30, 50)))
    here.until("done")
    assert here.text("#facts").startswith("50 × 30 px · PNG")


def test_the_face_switch_is_there_where_the_server_can(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    able = here.page.evaluate("fetch('styles').then(answer => answer.json()).then(said => Boolean(said.faces))")
    assert here.page.is_visible("#face") is able
    here.page.evaluate("document.querySelector('#face-row').hidden = false")
    here.page.check("#face")
    with here.page.expect_request("**/convert") as sent:
        here.page.set_input_files("#file", photo)
    assert sent.value.post_data_json["face"] is True
    here.page.wait_for_selector("#desk:is([data-state=done], [data-state=failed])")


def test_however_often_it_is_asked_for_one_conversion_is_under_way(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    here.convert(photo)
    sent: list[Any] = []
    here.page.route("**/convert", lambda route: sent.append(route))
    here.page.focus("#quality")
    for _ in range(3):  # Enter in a field submits its form, whether its button is seen or not
        here.page.keyboard.press("ArrowLeft")
        here.page.keyboard.press("Enter")
        here.page.wait_for_timeout(100)
    here.until("busy")
    *replaced, last = sent
    for route in replaced:
        assert route.request.failure == "net::ERR_ABORTED"
    assert last.request.post_data_json["quality"] == 89
    here.page.click("#cancel")
    here.until("done")


# The next picture that is decoded has to wait for `go()`, as a large one does.
SLOWLY = """() => {
    const { decode } = HTMLImageElement.prototype;
    HTMLImageElement.prototype.decode = function () {
        HTMLImageElement.prototype.decode = decode;
        return new Promise((resolve) => { window.go = resolve; }).then(() => decode.call(this));
    };
}"""


def test_a_photo_is_seen_to_be_read_from_the_moment_it_is_chosen(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    here.page.route("**/convert", lambda route: route.fulfill(status=503), times=1)
    here.convert(photo, "failed")
    here.page.evaluate(SLOWLY)
    here.convert(photo, "busy")
    assert here.text("#phase") == "Reading the photo"
    assert here.page.is_hidden("#problem")
    assert here.page.is_hidden("#blind")
    here.page.evaluate("go()")
    here.until("done")
    assert sum(url.endswith("/convert") for url in here.requests) == 2


def test_what_the_settings_show_is_what_they_are_after_going_away_and_back(
    visit: Any, server: str, photo: Path
) -> None:
    here = visit(server)
    here.page.fill("#quality", "40")
    here.page.goto("about:blank")
    here.page.go_back()
    here.page.wait_for_selector("html[data-ready]", state="attached")
    assert here.text("#quality-said") == here.page.input_value("#quality")
    here.page.check("input[name=format][value=png]", force=True)
    here.page.goto("about:blank")
    here.page.go_back()
    here.page.wait_for_selector("html[data-ready]", state="attached")
    assert here.page.is_checked("input[value=png]") != here.page.is_visible("#quality-row")


def test_a_paste_that_holds_nothing_is_no_error(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    here.page.evaluate("dispatchEvent(new ClipboardEvent('paste'))")
    here.convert(photo)  # and the page's errors are looked at in the end
