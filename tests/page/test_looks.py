"""What can be measured of how the page looks: contrast, widths, names, focus, motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.page.conftest import Visit

# WCAG 2.2, 1.4.3: contrast of each visible text with what lies behind it, as relative luminances have it.
CONTRASTS = """() => {
    const channel = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    const rgba = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return { r, g, b, a }; };
    const luminance = ({ r, g, b }) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = rgba(getComputedStyle(at).backgroundColor);
            if (colour.a > 0.99) return colour;
        }
        throw new Error("nothing behind " + element.outerHTML);
    };
    const texts = [...document.querySelectorAll("body *")].filter((element) =>
        element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
        && !element.closest(".view, .unseen, svg, option")
        && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
    return texts.map((element) => {
        const both = [luminance(rgba(getComputedStyle(element).color)), luminance(behind(element))];
        const [light, dark] = both.sort((a, b) => b - a);
        return [element.textContent.trim().slice(0, 40), (light + 0.05) / (dark + 0.05)];
    });
}"""

SIZES = [(320, 640), (390, 844), (768, 1024), (1280, 800), (844, 390)]
STATES = ("empty", "done", "failed")


def brought_to(here: Visit, state: str, photo: Path) -> None:
    if state == "done":
        here.convert(photo)
    if state == "failed":
        fake = photo.with_name("a-rather-long-name-" * 8 + ".jpg")
        fake.write_text("This is no photo.")
        here.convert(fake, "failed")


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast(visit: Any, server: str, photo: Path, scheme: str, state: str) -> None:
    here = visit(server, color_scheme=scheme)
    brought_to(here, state, photo)
    contrasts = here.page.evaluate(CONTRASTS)
    assert len(contrasts) > 12
    assert [(text, ratio) for text, ratio in contrasts if ratio < 4.5] == []


def test_dark_is_dark_and_light_is_light(visit: Any, server: str) -> None:
    brightness = "Math.max(...getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number))"
    assert visit(server, color_scheme="dark").page.evaluate(brightness) < 50
    assert visit(server, color_scheme="light").page.evaluate(brightness) > 200


@pytest.mark.parametrize("state", STATES)
def test_no_width_needs_scrolling_sideways(visit: Any, server: str, photo: Path, state: str) -> None:
    here = visit(server, has_touch=True)
    brought_to(here, state, photo)
    for width, height in SIZES:
        here.page.set_viewport_size({"width": width, "height": height})
        sides = here.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert sides[0] <= sides[1], (width, sides)


def test_on_a_phone_what_is_touched_is_large_enough(visit: Any, server: str, photo: Path) -> None:
    here = visit(server, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    here.convert(photo)
    for target in here.page.locator("button:visible, a.button:visible, select:visible, .choices label").all():
        box = target.bounding_box()
        assert min(box["width"], box["height"]) >= 40, target.inner_text()


def test_the_picture_and_its_download_fit_on_one_screen(visit: Any, server: str, photo: Path) -> None:
    here = visit(server, viewport={"width": 1280, "height": 720})
    here.convert(photo)
    box = here.page.locator("#download").bounding_box()
    assert box["y"] + box["height"] <= 720


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visit: Any, server: str, photo: Path, scheme: str, state: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    here = visit(server, color_scheme=scheme, reduced_motion="reduce")
    brought_to(here, state, photo)
    found = axe.Axe().run(here.page)
    assert found.violations_count == 0, found.generate_report()


def test_the_keyboard_reaches_everything_and_shows_where_it_is(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    here.convert(photo)
    here.page.check("input[name=format][value=webp]", force=True)  # so that there is something to convert again
    here.page.click("h1")  # where the way through the page begins
    reached = []
    for _ in range(20):
        here.page.keyboard.press("Tab")
        found = here.page.evaluate(
            """() => {
                const at = document.activeElement;
                const parts = [at, at.querySelector("circle"), at.closest(".choices")];
                const seen = parts.filter(Boolean).some((part) => {
                    const style = getComputedStyle(part);
                    return style.outlineStyle !== "none" || style.strokeWidth === "4px";
                });
                return [at === document.body ? "" : at.id || at.name || at.textContent, seen];
            }"""
        )
        if not found[0]:  # out of the page again
            break
        reached.append(found)
    names = [name for name, _ in reached]
    assert names[:3] == ["slider", "download", "Another photo"]
    assert {"style", "size", "format", "quality", "again", "The API"} <= set(names)
    assert [name for name, seen in reached if not seen] == []


def test_where_motion_is_unwelcome_nothing_moves(visit: Any, server: str, photo: Path) -> None:
    here = visit(server, reduced_motion="reduce")
    held: list[Any] = []
    here.page.route("**/convert", lambda route: held.append(route))
    with here.page.expect_request("**/convert"):  # while the photo is read, it is busy too
        here.convert(photo, "busy")
    for _ in range(1000):
        if held:
            break
        here.page.wait_for_timeout(10)
    assert here.page.evaluate("document.getAnimations().length") == 0
    held[0].continue_()
    here.until("done")
    assert here.page.evaluate("document.getAnimations().length") == 0


def test_in_the_system_s_colours_it_is_seen_what_is_switched_chosen_and_how_far_it_is(
    visit: Any, server: str, photo: Path
) -> None:
    here = visit(server, forced_colors="active", reduced_motion="reduce")
    here.page.evaluate("document.querySelector('#face-row').hidden = false")

    def looks(selector: str) -> bytes:
        return bytes(here.page.locator(selector).screenshot())

    off = looks("#face")
    here.page.check("#face")
    here.page.evaluate("document.activeElement.blur()")
    assert looks("#face") != off
    colours = "all => all.map(e => getComputedStyle(e).backgroundColor)"
    chosen, *others = here.page.eval_on_selector_all(".choices span", colours)
    assert chosen not in others
    here.page.uncheck("#face")
    here.convert(photo)
    both = "all => all.map(e => ['::before', null].map(part => getComputedStyle(e, part).backgroundColor))"
    assert all(bar != behind for bar, behind in here.page.eval_on_selector_all("#bars .bar", both))


def test_what_happens_is_told_to_those_who_do_not_see_it(visit: Any, server: str, photo: Path) -> None:
    here = visit(server)
    here.page.evaluate(
        "window.said = []; const status = document.querySelector('[role=status]');"
        "new MutationObserver(() => said.push(status.textContent)).observe(status, { childList: true })"
    )
    here.convert(photo)
    assert here.page.evaluate("window.said") == [
        "Reading the photo",
        "Sending the photo",
        "Painting",
        "Done. The picture has 240 × 160 px.",
    ]


def test_without_javascript_the_page_says_what_there_is(browser: Any, server: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(server)
    assert "needs JavaScript" in page.inner_text("body")
    page.context.close()
