"""The figures of a report, against numpy and against arithmetic by hand."""

from __future__ import annotations

import json
import random
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("polars", reason="the extra `report` is not installed")
pytest.importorskip("msgspec", reason="the extra `report` is not installed")

from infra.logs import load
from infra.report.figures import Figures, Spread
from infra.report.summary import Group, Summary
from tests.infra import log_lines as made

DAY = 86_400_000
STAGES = ("queue", "s3_get", "decode", "preprocess", "face", "inference", "postprocess", "encode", "s3_put")
METRICS = dict(zip(STAGES, ("Queue", "S3Get", "Decode", "Preprocess", "Face"), strict=False))
METRICS |= {name: name.capitalize() for name in ("inference", "postprocess", "encode")} | {"s3_put": "S3Put"}


def summary(tmp_path: Path, lines: list[dict[str, Any]], **more: Any) -> Summary:
    (tmp_path / "log").write_text(made.text(lines))
    return Summary.of(load([str(tmp_path / "log")]), **more)


def named(groups: list[Group]) -> dict[str, Figures]:
    return {group.name: group.figures for group in groups}


def percentiles(values: list[float]) -> list[float]:
    return [float(p) for p in np.percentile(values, [50, 90, 99])]


def listed(spread: Spread | None) -> list[float]:
    assert spread is not None
    return [spread.p50, spread.p90, spread.p99]


@pytest.fixture(scope="module")
def varied() -> list[dict[str, Any]]:
    """Three days, two styles, two sources, sizes and memory sizes; one in ten failed."""
    chance = random.Random(7)
    return [
        made.line(
            index * 3 * DAY // 600,
            **{f"{METRICS[name]}Duration": [round(chance.lognormvariate(3, 1), 2)] for name in STAGES},
            Duration=[round(chance.lognormvariate(5, 1), 2)],
            CpuTime=[round(chance.lognormvariate(4, 1), 2)],
            CpuUtilization=[round(chance.uniform(10, 100), 1)],
            MemoryUsed=[round(chance.uniform(300, 900), 1)],
            MaxMemoryUsed=[round(chance.uniform(900, 1000), 1)],
            InputPixels=[float(chance.choice((100_000, 1_900_000, 20_000_000)))],
            memory_size=chance.choice((1769, 3008)),
            Style=chance.choice(("cel", "hayao")),
            Source=chance.choice(("http-api", "s3-sqs")),
            error="corrupt_image" if chance.random() < 0.1 else None,
        )
        for index in range(600)
    ]


def well(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line.get("error") is None]


def check(figures: Figures, lines: list[dict[str, Any]]) -> None:
    """Counts by hand, percentiles by numpy."""
    good = well(lines)
    assert (figures.conversions, figures.failed) == (len(lines), len(lines) - len(good))
    for name in STAGES:
        expected = percentiles([line[f"{METRICS[name]}Duration"][0] for line in good])
        assert listed(figures.stages[name]) == pytest.approx(expected, rel=1e-5)
    for spread, metric in (
        (figures.duration, "Duration"),
        (figures.cpu_time, "CpuTime"),
        (figures.cpu_utilisation, "CpuUtilization"),
        (figures.memory, "MemoryUsed"),
    ):
        assert listed(spread) == pytest.approx(percentiles([line[metric][0] for line in good]), rel=1e-5)
    assert figures.max_memory == pytest.approx(max(line["MaxMemoryUsed"][0] for line in lines))


def test_percentiles_are_numpys_over_all_lines(varied: list[dict[str, Any]], tmp_path: Path) -> None:
    check(summary(tmp_path, varied).total, varied)


@pytest.mark.parametrize(("dimension", "key"), [("style", "Style"), ("source", "Source")])
def test_percentiles_are_numpys_in_each_group(
    dimension: str, key: str, varied: list[dict[str, Any]], tmp_path: Path
) -> None:
    found = named(summary(tmp_path, varied).by[dimension])
    assert set(found) == {line[key] for line in varied}
    for name, figures in found.items():
        check(figures, [line for line in varied if line[key] == name])


def test_photos_and_functions_are_told_apart_by_size(varied: list[dict[str, Any]], tmp_path: Path) -> None:
    by = summary(tmp_path, varied).by
    assert [group.name for group in by["size_class"]] == ["up to 0.5 MP", "0.5 to 2 MP", "over 16 MP"]
    assert [group.name for group in by["memory_size"]] == ["1769 MB", "3008 MB"]
    check(named(by["size_class"])["over 16 MP"], [one for one in varied if one["InputPixels"] == [20_000_000.0]])
    check(named(by["memory_size"])["3008 MB"], [one for one in varied if one["memory_size"] == 3008])


def test_each_day_has_its_own_figures_and_groups(varied: list[dict[str, Any]], tmp_path: Path) -> None:
    days = summary(tmp_path, varied).days
    assert [day.day for day in days] == [date(2026, 11, 30), *(date(2026, 12, n) for n in (1, 2, 3))]
    second = [one for one in varied if DAY // 2 <= one["_aws"]["Timestamp"] - made.START < DAY * 3 // 2]
    check(days[1].figures, second)  # START is at noon
    check(named(days[1].by["style"])["cel"], [one for one in second if one["Style"] == "cel"])


def test_days_are_those_of_utc(tmp_path: Path) -> None:
    midnight = DAY // 2
    days = summary(tmp_path, [made.line(midnight - 1), made.line(midnight)]).days
    assert {f"{day.day}": day.figures.conversions for day in days} == {"2026-11-30": 1, "2026-12-01": 1}


def test_errors_are_counted_by_code_the_most_frequent_first(tmp_path: Path) -> None:
    codes = ["busy", "corrupt_image", "busy", None]
    total = summary(tmp_path, [made.line(at, error=code) for at, code in enumerate(codes)]).total
    assert list(total.errors.items()) == [("busy", 2), ("corrupt_image", 1)]
    assert (total.conversions, total.failed, total.failed_share) == (4, 3, 0.75)
    assert total.refused == 2


def test_failed_conversions_have_no_part_in_percentiles(tmp_path: Path) -> None:
    lines = [made.line(0, Duration=[100.0]), made.line(1, Duration=[0.1], error="busy")]
    assert listed(summary(tmp_path, lines).total.duration) == [100, 100, 100]


def test_where_nothing_waited_the_wait_is_zero(tmp_path: Path) -> None:
    lines = [made.line(0), made.line(1), made.line(2, QueueDuration=[30.0])]
    assert listed(summary(tmp_path, lines).total.stages["queue"]) == pytest.approx(percentiles([0, 0, 30]))


def test_cold_starts_inits_skips_hits_and_environments_are_counted(tmp_path: Path) -> None:
    lines = [
        *(made.init(0, InitDuration=[1000.0]), made.init(1, InitDuration=[3000.0], environment="other")),
        *(made.line(2, cold_start=True), made.line(3, cache="hit", InferenceDuration=None), made.skipped(4)),
    ]
    total = summary(tmp_path, lines).total
    assert (total.conversions, total.cold_starts, total.cache_hits, total.skipped) == (2, 1, 1, 1)
    assert (total.environments, total.init.count) == (2, 2)
    assert listed(total.init.time) == pytest.approx(percentiles([1000, 3000]))


def test_costs_are_those_of_lambdas_price_list(tmp_path: Path) -> None:
    lines = [
        made.init(0, InitDuration=[2000.0], memory_size=2048),
        made.line(1, Duration=[3000.0], memory_size=2048),
        made.line(2, Duration=[1000.0], memory_size=1024, error="busy"),
    ]
    cost = summary(tmp_path, lines, gb_second=0.5).total.cost
    assert cost.gb_seconds == 2 * 2 + 3 * 2 + 1 * 1
    assert cost.usd == pytest.approx(11 * 0.5 + 2 * 0.20 / 1_000_000, abs=1e-12)
    assert (cost.requests, cost.unpriced) == (2, 0)


def test_what_did_not_run_on_lambda_has_no_cost(tmp_path: Path) -> None:
    found = summary(tmp_path, [made.line(0)])
    assert (found.total.cost.usd, found.total.cost.unpriced) == (None, 1)
    assert [group.name for group in found.by["memory_size"]] == ["not on Lambda"]


def test_a_log_of_init_phases_only_has_no_latencies(tmp_path: Path) -> None:
    total = summary(tmp_path, [made.init()]).total
    assert (total.conversions, total.duration, total.stages, total.failed_share) == (0, None, {}, 0)


def test_names_beyond_the_most_frequent_are_one_group(tmp_path: Path) -> None:
    lines = [made.line(n, Style=f"style{n:02}") for n in range(30)] + [made.line(40 + n) for n in range(3)]
    found = named(summary(tmp_path, lines).by["style"])
    assert len(found) == 21
    assert (found["cel"].conversions, found["(others)"].conversions) == (3, 11)


def test_a_photo_that_was_never_read_has_no_size(tmp_path: Path) -> None:
    lines = [made.line(0, InputPixels=[0.0], error="corrupt_image"), made.line(1, InputPixels=None, error="busy")]
    assert {name: one.failed for name, one in named(summary(tmp_path, lines).by["size_class"]).items()} == {
        "not read": 2
    }


FIGURES = {
    *("conversions", "failed", "refused", "skipped", "cold_starts", "cache_hits", "environments", "errors"),
    *("init", "stages"),
    *("duration", "cpu_time", "cpu_utilisation", "memory", "max_memory", "cost"),
}


def test_the_keys_of_json_are_those_that_are_documented(varied: list[dict[str, Any]], tmp_path: Path) -> None:
    said = json.loads(json.dumps(summary(tmp_path, [*varied, made.init()]).as_json(), allow_nan=False))
    assert set(said) == {"first", "last", "lines", "prices", "total", "by", "days"}
    assert set(said["lines"]) == {"ours", "foreign", "broken", "out_of_range", "sources"}
    assert set(said["by"]) == set(said["days"][0]["by"]) == {"style", "source", "size_class", "memory_size"}
    assert set(said["total"]) == FIGURES
    assert set(said["by"]["style"][0]) == FIGURES | {"name"}
    assert set(said["days"][0]) == FIGURES | {"day", "by"}
    assert set(said["total"]["init"]) == {"count", "p50", "p90", "p99"}
    assert set(said["total"]["duration"]) == {"p50", "p90", "p99"}
    assert list(said["total"]["stages"]) == list(STAGES)
    assert set(said["total"]["cost"]) == {"gb_seconds", "requests", "usd", "unpriced"}
    page = (Path(__file__).parents[2] / "docs/report.md").read_text(encoding="utf-8")
    assert [key for key in {*said, *said["lines"], *FIGURES, *said["by"]} if f"`{key}`" not in page] == []
