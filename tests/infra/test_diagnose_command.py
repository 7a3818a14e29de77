"""`animegan diagnose` on files of log lines, and what it prints."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from infra.cli import main
from infra.diagnose import Cause, Diagnosis, Figure, Finding
from infra.diagnose.text import as_text
from tests.infra.diagnose_frames import EPOCH, Part, log

STAGES = ("decode", "preprocess", "inference", "postprocess", "encode")
METRICS = {
    "duration": "Duration",
    "queue": "QueueDuration",
    **{name: f"{name.capitalize()}Duration" for name in STAGES},
    "cpu": "CpuTime",
    "memory": "MemoryUsed",
    "input_pixels": "InputPixels",
    "init": "InitDuration",
}
PROPERTIES = (
    "event", "environment", "precision", "input_bytes", "output_bytes", "input_format", "output_format",
    "cold_start", "error", "threads", "vcpus", "major_faults", "minor_faults", "cache", "progressive",
)  # fmt: skip


def line(row: dict[str, Any]) -> str:
    """A row as the function writes it: metrics as lists, the rest as properties (handler/metrics.py)."""
    side = int((row.get("output_pixels") or 0) ** 0.5)
    known = {name: value for name, value in row.items() if value is not None}
    said: dict[str, Any] = {
        "_aws": {"Timestamp": int(row["at"].timestamp() * 1000), "CloudWatchMetrics": []},
        "FunctionName": "animegan",
        "Style": row.get("style") or "cel",
        "Source": row.get("source") or "init",
        **{metric: [known[name]] for name, metric in METRICS.items() if name in known},
        **{name: row.get(name) for name in PROPERTIES},
    }
    if row["event"] == "conversion":
        cpu = {name: (row.get(f"{name}_cpu") or 0) / 1000 for name in ("decode", "inference")}
        said |= {"output_width": side, "output_height": side, "stage_cpu": cpu, "load_average": [row["load"]] * 3}
        said |= {"steal_time": row["steal"], "involuntary_switches": row["switches"]}
    return json.dumps(said)


def written(path: Path, frame: pl.DataFrame) -> Path:
    lines = ["INFO: Started server", *(line(row) for row in frame.iter_rows(named=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def contended(tmp_path: Path) -> Path:
    return written(tmp_path / "log.jsonl", log(Part(), Part(stretch=2.5, switching=2000)))


def test_a_cause_is_told_with_its_figures_and_cure_and_exit_code_3(
    contended: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(contended)]) == 3
    out, err = capsys.readouterr()
    assert out.startswith("CPU contention: conversions wait for CPUs that others use (96 conversions in 1 env")
    assert "since 2026-11-30 14:00:0" in out
    assert "CPU time of inference per megapixel 3," in out
    assert "unchanged" in out
    assert "Cure: " in out
    assert max(map(len, out.splitlines()[2:])) <= 110
    assert "97 lines of ours, 1 of others" in err


def test_json_is_one_object_of_stable_fields(contended: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "--json", str(contended)]) == 3
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert err == ""
    assert list(said) == [
        "cause", "conversions", "refused", "failed", "environments", "since", "until", "causes",
        "unexplained", "notes",
    ]  # fmt: skip
    [found] = said["causes"]
    assert said["cause"] == found["cause"] == "cpu_contention"
    assert list(found) == [
        "cause", "what", "share", "added_ms", "slower", "since", "until", "stage", "environments",
        "of_environments", "evidence", "cure",
    ]  # fmt: skip
    assert all(list(one) == ["name", "unit", "before", "during"] for one in found["evidence"])
    assert datetime.fromisoformat(found["since"]) > EPOCH
    assert found["until"] is None


def test_no_change_is_exit_code_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(written(tmp_path / "log.jsonl", log(Part(90))))]) == 0
    assert capsys.readouterr().out.startswith("No change: conversions did not get slower (90 conversions in 1")


def test_too_few_conversions_are_not_enough_data_and_exit_code_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(written(tmp_path / "log.jsonl", log(Part(20))))]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Not enough data: 20 conversions in 1 environment")
    assert "at least 40 answered conversions are needed" in out


def test_a_log_without_a_line_of_ours_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.log"
    path.write_text("START RequestId: 1\nEND RequestId: 1\n")
    assert main(["diagnose", str(path)]) == 1
    assert capsys.readouterr().err.startswith("animegan: no log line of the function")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(tmp_path / "none.jsonl")]) == 1
    assert "none.jsonl" in capsys.readouterr().err


def test_several_packed_logs_are_one(contended: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = contended.read_text().splitlines(keepends=True)
    for name, part in ("a", lines[::2]), ("b", lines[1::2]):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress("".join(part).encode()))
    assert main(["diagnose", "--json", str(tmp_path / "a.gz"), str(tmp_path / "b.gz")]) == 3
    assert json.loads(capsys.readouterr().out)["conversions"] == 96


def test_a_time_range_leaves_the_slow_half_out(contended: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half = (EPOCH + timedelta(seconds=8)).isoformat()
    assert main(["diagnose", "--json", "--until", half, str(contended)]) == 0
    assert json.loads(capsys.readouterr().out)["cause"] == "no_change"


def test_help_says_what_exit_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["diagnose", "--help"])
    assert "3 a cause was found" in capsys.readouterr().out


def told(*evidence: Figure, **said: Any) -> str:
    found = Finding(Cause.PAGING, "memory is full", "inference", 120.0, 0.5, evidence, "More memory.", **said)
    whole = Diagnosis(Cause.PAGING, (found,), 50, 0, 0, 2, EPOCH, EPOCH + timedelta(minutes=1))
    return as_text(whole)


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure("pace", 2310.0, 1120.0, "ms"), "pace 1,120 → 2,310 ms (+106%)"),
        (Figure("switches", 410.0, 3.0, "per conversion"), "switches 3 → 410 per conversion (136.7 times)"),
        (Figure("work", 1.02, 1.0, "ms"), "work 1 → 1.02 ms (unchanged, +2%)"),
        (Figure("hits", 10.0, 80.0, "%"), "hits 80 → 10 %"),
        (Figure("faults", 12.0, 0.0), "faults 0 → 12"),
        (Figure("precision", "float32", "bfloat16"), "precision bfloat16 → float32"),
        (Figure("format", "png", "png"), "format png, as before"),
        (Figure("wait", 812.5, None, "ms"), "wait 812 ms"),
        (Figure("bytes", 1_234_567.0, unit="bytes"), "bytes 1,234,567 bytes"),
    ],
)
def test_figures_read_before_then_during(figure: Figure, text: str) -> None:
    assert f"   {text}\n" in told(figure)


def test_names_from_a_log_do_not_move_the_cursor() -> None:
    evil = "\x1b[2J\u202e\n\0"
    found = Finding(
        Cause.PAGING, evil, "inference", 120.0, 0.5, (Figure("format", evil, evil + "b"),), "More memory."
    )
    some = replace(found, environments=(evil,), of=2)
    said = as_text(Diagnosis(Cause.PAGING, (some,), 50, 0, 0, 2, EPOCH, EPOCH, notes=(evil,)))
    assert said.count(r"\x1b[2J\u202e\n\x00") == 5  # as what, where, before, during, and in a note
    assert all(line.isprintable() for line in said.split("\n"))


def test_a_figure_that_is_unknown_is_left_out() -> None:
    assert "load" not in told(Figure("load", float("nan"), 1.0))


def test_when_and_where_are_told() -> None:
    since, until = datetime(2026, 11, 30, 14, 2, tzinfo=UTC), datetime(2026, 11, 30, 14, 9, tzinfo=UTC)
    assert "1. Paging, all along; 120 ms (+50%)" in told()
    one_of_two = told(since=since, environments=("a",), of=2)
    assert "since 2026-11-30 14:02:00 UTC; in 1 of 2 environments (a)" in one_of_two
    assert "14:02:00 to 2026-11-30 14:09:00 UTC, over since" in told(since=since, until=until)
    assert "in all 2 environments" in told(environments=("a", "b"), of=2)
