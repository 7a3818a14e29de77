"""The divider between photo and picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.page.conftest import Visit


def value(here: Visit) -> int:
    return int(here.page.get_attribute("#slider", "aria-valuenow"))


def uncovered(here: Visit) -> float:
    """Where the picture begins, in percent of the width, as it is painted."""
    said = here.page.evaluate("getComputedStyle(document.querySelector('#after')).clipPath")
    return float(said.rpartition(" ")[2].rstrip("%)"))


@pytest.fixture
def here(visit: Any, server: str, photo: Path) -> Visit:
    made: Visit = visit(server, reduced_motion="reduce", has_touch=True)
    made.convert(photo)
    return made


def test_keys_move_it(here: Visit) -> None:
    here.page.focus("#slider")
    assert value(here) == 50
    for key, at in [
        ("ArrowLeft", 48), ("ArrowRight", 50), ("ArrowUp", 52), ("ArrowDown", 50), ("PageUp", 60),
        ("PageDown", 50),
        ("Home", 0), ("ArrowLeft", 0), ("End", 100), ("ArrowRight", 100), ("PageDown", 90),
    ]:  # fmt: skip
        here.page.keyboard.press(key)
        assert (value(here), uncovered(here)) == (at, at), key
    assert here.page.get_attribute("#slider", "aria-valuetext") == "90 % photo, 10 % picture"


def test_it_is_a_slider_with_a_name_and_bounds(here: Visit) -> None:
    slider = here.page.get_by_role("slider", name="Divider between photo and picture")
    assert slider.get_attribute("aria-valuemin") == "0"
    assert slider.get_attribute("aria-valuemax") == "100"
    assert slider.get_attribute("aria-orientation") == "horizontal"


def test_a_pointer_drags_it_from_anywhere_and_past_the_edge(here: Visit) -> None:
    box = here.page.locator("#view").bounding_box()
    here.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 20)
    assert value(here) == 50
    here.page.mouse.down()
    assert value(here) == pytest.approx(30, abs=1)
    here.page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 60)
    assert uncovered(here) == pytest.approx(80, abs=1)
    here.page.mouse.move(box["x"] + box["width"] + 200, box["y"] - 50)
    assert value(here) == 100
    here.page.mouse.up()
    here.page.mouse.move(box["x"] + 10, box["y"] + 10)
    assert value(here) == 100


def test_a_finger_moves_it_and_can_still_scroll(here: Visit) -> None:
    box = here.page.locator("#view").bounding_box()
    here.page.touchscreen.tap(box["x"] + box["width"] * 0.25, box["y"] + box["height"] / 2)
    assert value(here) == pytest.approx(25, abs=1)
    assert here.page.evaluate("getComputedStyle(document.querySelector('#view')).touchAction") == "pan-y"


def test_photo_and_picture_lie_exactly_on_each_other(here: Visit) -> None:
    before, after = (here.page.locator(f"#{name}").bounding_box() for name in ("before", "after"))
    assert before == after
    assert before["width"] / before["height"] == pytest.approx(1.5, abs=0.01)


def test_where_motion_is_welcome_it_wipes_from_the_photo_to_the_middle(
    visit: Any, server: str, photo: Path
) -> None:
    here = visit(server, reduced_motion="no-preference")
    here.page.evaluate(
        "new MutationObserver(() => (window.most = Math.max(window.most ?? 0,"
        " document.querySelector('#slider').ariaValueNow)))"
        ".observe(document.querySelector('#slider'), { attributes: true })"
    )
    here.convert(photo)
    here.page.wait_for_selector("#slider[aria-valuenow='50']")
    assert here.page.evaluate("window.most") > 50
