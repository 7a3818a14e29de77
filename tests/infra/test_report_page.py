"""The report as people see it: terminal, Markdown and page; and that names from a log do nothing there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars", reason="the extra `report` is not installed")
pytest.importorskip("msgspec", reason="the extra `report` is not installed")
pytest.importorskip("jinja2", reason="the extra `report` is not installed")
pytest.importorskip("matplotlib", reason="the extra `report` is not installed")

import polars as pl

from infra.cli import main
from infra.logs import load
from infra.report import samples, units
from infra.report.page import page
from infra.report.summary import Summary
from tests.infra import log_lines as made

EVIL = (
    "<script>alert(1)</script>\"'&$\\frac{$ | `x` [a](javascript:b) "
    "\x1b[31m\x07 {{ 7*7 }} </style><img src=x onerror=1>"
)
DAY = 86_400_000


def evil_lines() -> list[dict[str, Any]]:
    more = {"Style": EVIL, "Source": EVIL, "environment": f"_{EVIL}", "memory_size": 1769}
    return [made.line(0, **more), made.line(1, **more, error=EVIL), made.init(2, **more)]


def rendered(tmp_path: Path, lines: list[Any]) -> str:
    (tmp_path / "log").write_text(made.text(lines))
    logs = load([str(tmp_path / "log")])
    return page(Summary.of(logs), logs.frame)


class Tags(HTMLParser):
    """Every tag with its attributes, and the text outside of styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_asks_for_nothing_from_anywhere(tmp_path: Path) -> None:
    html = rendered(tmp_path, [made.line(at) for at in range(40)])
    tags = Tags(html).tags
    assert {"script", "link", "img", "iframe", "object", "base", "form"} & {tag for tag, _ in tags} == set()
    pointing = {"src", "href", "xlink:href"}
    links = [value for _, attributes in tags for name, value in attributes.items() if name in pointing]
    assert links
    assert all(link and link.startswith("#") for link in links)
    assert re.findall(r"url\((?!#)", html) == []
    assert "@import" not in html
    assert "default-src 'none'" in html


def test_names_from_a_log_are_text_on_the_page(tmp_path: Path) -> None:
    html = rendered(tmp_path, evil_lines())
    found = Tags(html)
    assert {tag for tag, _ in found.tags} & {"script", "img"} == set()
    assert [name for _, attributes in found.tags for name in attributes if name.startswith("on")] == []
    assert "<script>alert(1)</script>" in found.text
    assert "{{ 7*7 }}" in found.text
    assert "\x1b" not in html
    assert "\x07" not in html


def test_ids_on_the_page_are_its_own(tmp_path: Path) -> None:
    html = rendered(tmp_path, [made.line(at) for at in range(40)])
    ids = re.findall(r' id="([^"]+)"', html)
    assert ids
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in re.findall(r'href="(#[^"]+)"', html)} <= set(ids)


def test_plots_take_their_colours_from_the_page(tmp_path: Path) -> None:
    html = rendered(tmp_path, [made.line(at, FaceDuration=[3.0]) for at in range(40)])
    plots = "".join(re.findall(r"<svg.*?</svg>", html, re.S))
    assert len(re.findall("<svg", plots)) == 8  # four, each wide and narrow
    assert set(re.findall(r"#[0-9a-f]{6}\b", plots)) == set()
    used, css = set(re.findall(r"var\((--[\w-]+)\)", html)), html[: html.index("</style>")]
    assert {"--ink", "--series-4", "--series-5"} <= used
    for variable in used:
        assert css.count(f"{variable}:") == 2  # light and dark


def test_a_page_without_conversions_has_no_plots(tmp_path: Path) -> None:
    html = rendered(tmp_path, [made.init()])
    assert "<svg" not in html
    assert "cold starts" in html


def test_bins_have_the_mean_of_all_that_is_in_them(tmp_path: Path) -> None:
    """Two days of two conversions; what no stage took is `other`."""
    times = ((0, 100.0, 84.0), (1000, 200.0, 96.0), (DAY, 300.0, 284.0), (DAY + 1000, 500.0, 484.0))
    lines = [made.line(at, Duration=[whole], InferenceDuration=[part]) for at, whole, part in times]
    (tmp_path / "log").write_text(made.text(lines))
    binned = samples.stages_over_time(samples.converted(load([str(tmp_path / "log")]).frame))
    assert binned.rows["inference"].to_list() == [90.0, 384.0]
    assert binned.rows["other"].to_list() == pytest.approx([150 - 98.5, 400 - 392.5])
    assert binned.step == "1h"


STEPS = [(0.0001, "1s"), (0.04, "1m"), (1, "1h"), (14, "6h"), (400, "1w"), (20000, "1q")]


@pytest.mark.parametrize(("days", "step"), STEPS)
def test_bins_are_as_long_as_the_log_needs(days: float, step: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(made.text([made.line(0), made.line(int(days * DAY))]))
    assert samples.stages_over_time(load([str(tmp_path / "log")]).frame).step == step


def test_points_of_a_large_log_are_a_sample_and_say_so(tmp_path: Path) -> None:
    count = samples.MOST_POINTS + 500
    lines = [made.line(at, Duration=[float(at % 100 + 1)]) for at in range(count)]
    html = rendered(tmp_path, lines)
    assert f"{samples.MOST_POINTS:,} of {count:,} conversions, drawn at random" in html
    frame = samples.converted(load([str(tmp_path / "log")]).frame)
    sampled = samples.latency(frame)
    assert (sampled.shown, sampled.all) == (samples.MOST_POINTS, count)
    assert sampled.rows["duration"].median() == pytest.approx(50.5, abs=5)
    trend = samples.latency_by_size(frame)
    assert trend["conversions"].to_list() == [count]
    assert trend["p90"].to_list() == pytest.approx([90.0], abs=1)


def test_memory_keeps_the_peak_of_each_run(tmp_path: Path) -> None:
    """One peak in 5,000 conversions must not be sampled away."""
    lines = [made.line(at, MemoryUsed=[900.0 if at == 3210 else 300.0]) for at in range(5000)]
    (tmp_path / "log").write_text(made.text([*lines, made.line(1, environment=None, MemoryUsed=[5.0])]))
    sampled = samples.memory(samples.converted(load([str(tmp_path / "log")]).frame))
    ours = sampled.rows.filter(pl.col("environment") == "local-1-a")
    assert ours.height <= samples.POINTS_EACH
    peak = ours.filter(pl.col("memory") == 900)
    assert peak.height == 1
    assert abs(peak["nth"][0] - 3211) < 5000 / samples.POINTS_EACH + 1
    assert ours["nth"].max() == 5000
    assert (sampled.shown, sampled.all) == (2, 2)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log"
    path.write_text(made.text([made.init(), *(made.line(at) for at in range(20)), *made.FOREIGN, *evil_lines()]))
    return path


def run(*args: object) -> int:
    return main(["report", *map(str, args)])


def test_the_terminal_gets_tables(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(log) == 0
    out = capsys.readouterr().out
    assert "24 lines of ours, 7 of others left out" in out
    assert re.search(r"2026-11-30 +22 +1 \(4.5 %\)", out)
    assert re.search(r"inference +84 ms +84 ms +84 ms", out)
    assert "\x1b" not in out
    assert "\x07" not in out


def test_markdown_has_the_same_tables_and_heeds_no_names(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(log, "--markdown") == 0
    out = capsys.readouterr().out
    assert re.search(r"\| inference +\| +84 ms \|", out)
    tables = [part.splitlines() for part in out.split("\n\n") if part.startswith("|")]
    cells = [[len(re.findall(r"(?<!\\)\|", row)) for row in table] for table in tables]
    assert len(cells) >= 6
    assert all(len(set(counts)) == 1 for counts in cells)  # no name opens another cell


def test_json_is_one_object(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(log, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["total"]["conversions"], said["lines"]["foreign"]) == (22, 7)
    assert said["lines"]["sources"] == [
        {"source": str(log), "ours": 24, "foreign": 7, "broken": 0, "out_of_range": 0, "stopped": None}
    ]
    assert EVIL in said["total"]["errors"]  # as it was; JSON escapes it


def test_the_page_is_written_beside_the_tables(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(log, "--html", tmp_path / "out.html") == 0
    assert (tmp_path / "out.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    captured = capsys.readouterr()
    assert "By day" in captured.out
    assert "out.html" in captured.err


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", [], "nothing in this log"),
        ("hello\n", [], "no log line of the function among 1 lines (0 broken)"),
        (None, ["--since", "2027-01-01"], "from 2027-01-01 00:00 UTC; the 24 there are go from 2026-11-30 12:00"),
        (None, ["--until", "2026-11-29T10:00"], "no log line before 2026-11-29 10:00 UTC"),
        (None, ["--since", "2026-11-30", "--until", "2026-11-29"], "--since 2026-11-30 00:00 UTC is not before"),
        (None, ["--html", "/nowhere/x.html"], "/nowhere/x.html: No such file or directory"),
    ],
)
def test_what_cannot_be_reported_is_said_in_one_line(
    content: str | None, options: list[str], message: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        log.write_text(content)
    assert run(log, *options) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_the_range_is_in_utc_unless_it_says_otherwise(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text(made.text([made.line(-3_600_000), made.line(0), made.line(3_600_000)]))
    assert run(log, "--since", "2026-11-30T11:30", "--until", "2026-11-30T13:30+01:00", "--json") == 0
    assert json.loads(capsys.readouterr().out)["lines"]["out_of_range"] == 2


@pytest.mark.parametrize("missing", ["polars", "jinja2"])
def test_a_missing_package_is_named_with_its_extra(
    missing: str, log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from infra.bench import installed

    there = installed.find_spec
    monkeypatch.setattr(installed, "find_spec", lambda name: None if name == missing else there(name))
    assert run(log, "--html", log.with_suffix(".html")) == 1
    assert capsys.readouterr().err == f"animegan: this needs {missing}: pip install 'animegan-lambda[report]'\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real Chromium."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = os.environ.get("ANIMEGAN_TEST_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        pytest.skip("Chromium is not installed; ANIMEGAN_TEST_CHROMIUM may name one")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 360)])
def test_the_page_works_offline_in_a_browser(scheme: str, width: int, browser: Any, tmp_path: Path) -> None:
    """Readable in light and dark, as wide as the screen, and it asks for nothing but itself."""
    path = tmp_path / "page.html"
    html = rendered(tmp_path, [*(made.line(at * 1000) for at in range(60)), *evil_lines()])
    path.write_text(html, encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
    tab, asked, complaints = context.new_page(), [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("dialog", lambda dialog: complaints.append("alert") or dialog.dismiss())
    tab.goto(path.as_uri())
    assert asked == [path.as_uri()]
    assert complaints == []
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    shown = tab.locator(f".plot.{'narrow' if width < 500 else 'wide'}")
    assert [shown.nth(index).is_visible() for index in range(4)] == [True] * 4
    ink = tab.evaluate("getComputedStyle(document.querySelector('.plot text')).fill")
    ground = tab.evaluate("getComputedStyle(document.querySelector('figure')).backgroundColor")
    assert contrast(ink, ground) > 7  # WCAG's AAA
    assert tab.evaluate("document.querySelector('.plot svg').getBoundingClientRect().width") <= width
    context.close()


@pytest.mark.parametrize("width", [1280, 360])
def test_no_plot_s_text_is_cut_off(width: int, browser: Any, tmp_path: Path) -> None:
    """With as many environments as are shown, and two limits: the longest legend that there is."""
    streams = [f"2026/11/30/[$LATEST]{number:032x}" for number in range(9)]
    lines = [
        made.line(
            at * 1000, environment=streams[at % 9], memory_size=(512, 640)[at % 2], Style="x" * (10 + at % 9)
        )
        for at in range(90)
    ]
    path = tmp_path / "page.html"
    path.write_text(rendered(tmp_path, lines), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 800}, offline=True)
    tab = context.new_page()
    tab.goto(path.as_uri())
    cut = tab.evaluate(
        """[...document.querySelectorAll('.plot svg text')].filter(text => text.checkVisibility()).filter(text => {
            const [inner, outer] = [text, text.closest('svg')].map(one => one.getBoundingClientRect());
            return inner.left < outer.left - 1 || inner.right > outer.right + 1;
        }).map(text => text.textContent)"""
    )
    assert tab.locator("text=640 MB, the limit").count() == 2  # wide and narrow
    assert cut == []
    context.close()


def test_one_moment_has_its_own_second_as_an_axis(tmp_path: Path) -> None:
    html = rendered(tmp_path, [made.line(0)])
    plots = re.findall(r"<svg.*?</svg>", html, re.S)
    texts = {text for plot in plots for text in re.findall(r"<text[^>]*>([^<]*)</text>", plot)}
    assert not {text for text in texts if re.fullmatch(r"20\d\d", text)}  # years, of a day in the middle of them


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00 USD"), (0.0000321, "0.000032 USD"), (0.0284, "0.028 USD"), (1234.5, "1,234.50 USD")],
)
def test_costs_have_the_digits_that_count_and_no_exponent(value: float, text: str) -> None:
    assert units.usd(value) == text


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, of two `rgb(r, g, b)`."""
    lights = sorted(_luminance([int(part) / 255 for part in re.findall(r"\d+", rgb)[:3]]) for rgb in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(channels: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_benchmark_reports_on_as_many_lines_as_it_made_up() -> None:
    for form in ("plain", "gzip", "events"):
        # In a process of its own: what one starts is said to have had at least the memory of who started it.
        command = [sys.executable, "-m", "infra.cli", "bench", "report", "--json"]
        command += ["--lines", "1000", "--form", form]
        said = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
        assert (said["lines"], said["form"]) == (1000, form)
        assert said["seconds"] > 0
        assert 50 < said["peak_mb"] < 500
        assert len(said["verdicts"]) == 2


def test_made_up_lines_are_all_read_and_as_long_as_real_ones(tmp_path: Path) -> None:
    from infra.bench.made_up_log import lines

    (tmp_path / "log").write_text("".join(lines(500)))
    logs = load([str(tmp_path / "log")])
    assert (logs.counted.ours, logs.counted.foreign, logs.counted.broken) == (500, 0, 0)
    assert (tmp_path / "log").stat().st_size / 500 > 1500


def test_other_commands_do_not_load_what_the_report_needs() -> None:
    heavy = "{'polars', 'msgspec', 'ijson', 'jinja2', 'matplotlib', 'rich'}"
    asked = f"import sys; from infra.options import parser; parser(); print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
