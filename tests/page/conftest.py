"""Chromium without a window, the real server, and photos. `make test-page` names the browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import cv2
import numpy as np
import pytest

from handler.function import Function
from handler.settings import Settings

ROOT = Path(__file__).parents[2]
MAX_SIDE = 256  # small, so that conversions are quick
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
EXPECTED = "Failed to load resource: the server responded with a status of"  # Chromium's line for an error answer


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if not (executable := os.environ.get("ANIMEGAN_TEST_CHROMIUM")):
        pytest.skip("make test-page names the browser that this needs")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def server(browser: Any, frozen_styles: Path) -> Iterator[str]:
    """`animegan serve` in a process of its own; its URL."""
    ours = ("MAX_", "STYLE", "AWS_", "PRECISION", "NUM_", "OUTPUT_", "UPLOAD_", "CACHE_", "POWERTOOLS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    said = {"STYLES_DIR": str(frozen_styles), "MAX_SIDE": str(MAX_SIDE), "NUM_THREADS": "1", "CACHE_BYTES": "0"}
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.cli", "serve", "--port", "0"],
        env={**kept, **said, "PRECISION": "float32", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    lines = (re.search(r"serving on (http://\S+) ", line) for line in process.stderr)
    match = next(filter(None, lines), None)
    assert match, "it did not start"
    threading.Thread(target=process.stderr.read, daemon=True).start()  # or its pipe fills up
    yield match[1]
    process.terminate()
    process.wait(60)


@pytest.fixture(scope="session")
def function(frozen_styles: Path) -> Function:
    """The function, for a gateway before it."""
    settings = Settings(
        styles_dir=frozen_styles, max_side=MAX_SIDE, num_threads=1, precision="float32", cache_bytes=0
    )
    return Function(settings, begun=time.perf_counter())


@dataclass
class Visit:
    """A page in a browser of its own, and all that went wrong or out."""

    page: Any
    url: str
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def note(self, said: Any) -> None:
        if said.type in ("error", "warning"):
            self.errors.append(said.text)

    def convert(self, path: Path, state: str = "done") -> None:
        self.page.set_input_files("#file", path)
        self.until(state)

    def until(self, state: str) -> None:
        self.page.wait_for_selector(f"#desk[data-state={state}]", timeout=60_000)

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def origins(self) -> set[str]:
        """Those of all requests; `blob:` URLs are the page's own."""
        return {"{0.scheme}://{0.netloc}".format(urlsplit(url)) for url in self.requests if url[:5] != "blob:"}


@pytest.fixture
def visit(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """visit(url, **context options) opens the page; afterwards nothing must have gone wrong in its console."""
    visits: list[Visit] = []

    def opened(url: str, **options: Any) -> Visit:
        page = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options}).new_page()
        made = Visit(page, url)
        visits.append(made)
        page.on("console", made.note)
        page.on("pageerror", lambda error: made.errors.append(str(error)))
        page.on("request", lambda sent: made.requests.append(sent.url))
        page.goto(f"{url}/")
        page.wait_for_selector("html[data-ready]", state="attached")
        return made

    yield opened
    for made in visits:
        made.page.context.close()
        assert [said for said in made.errors if not said.startswith(EXPECTED)] == []


def pixels(height: int, width: int, noise: int = 0) -> Any:
    """BGR: smooth colours, with so much noise."""
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    bgr = np.dstack([columns * 200 / width, rows * 200 / height, 200 - columns * 200 / width])
    if noise:
        bgr += np.random.default_rng(0).integers(-noise, noise, bgr.shape, dtype=np.int16)
    return bgr.clip(0, 255).astype(np.uint8)


def write(path: Path, bgr: Any, *options: int) -> Path:
    assert cv2.imwrite(str(path), bgr, options)
    return path


def read(path: Path) -> Any:
    return decoded(path.read_bytes())


def decoded(data: bytes) -> Any:
    """Its channels as they are: BGR, or BGRA."""
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    assert pixels is not None, "no whole picture"
    return pixels


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A JPEG of 240×160 pixels with a name that needs care."""
    return write(tmp_path / "at the sea: 1.jpg", pixels(160, 240))
