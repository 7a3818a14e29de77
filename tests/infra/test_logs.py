"""The reader: lines of ours out of every form in which a log is fetched."""

from __future__ import annotations

import gzip
import io
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars", reason="the extra `report` is not installed")
pytest.importorskip("msgspec", reason="the extra `report` is not installed")

import polars as pl

from handler.metrics import LogLines
from handler.stages import Stages
from infra.errors import BadLog
from infra.logs import SCHEMA, Logs, load
from tests.infra import log_lines as made

TWO = [made.without_environment(0), made.without_environment(5)]
MIXED = [made.FOREIGN[0], TWO[0], *made.FOREIGN[1:3], TWO[1], made.FOREIGN[3]]
STAMP = "2026-11-30T12:00:00.000000+00:00"
COLOURED = f"\x1b[32m{STAMP}\x1b[0m \x1b[36m{made.STREAM}\x1b[0m"


def pretty(text: str) -> str:
    """As `aws logs tail --format json` lays out what is JSON."""
    return "\n" + json.dumps(json.loads(text), indent=4) if text.startswith("{") else text


def as_text_output(messages: list[str]) -> str:
    """`filter-log-events --output text`: columns by name, a line break inside of them."""
    return "".join(
        f"EVENTS\t38{e['eventId']}\t{e['ingestionTime']}\t{e['logStreamName']}\t{e['message']}\t{e['timestamp']}\n"
        for e in made.events(messages)
    )


FORMS = {
    "tail": "".join(f"{STAMP} {made.STREAM} {one}\n" for one in MIXED),
    "tail in colour": "".join(f"{COLOURED} {one}\n" for one in MIXED),
    "tail --format json": "".join(f"{STAMP} {made.STREAM} {pretty(one)}\n" for one in MIXED),
    "filter-log-events": json.dumps({"events": made.events(MIXED), "searchedLogStreams": []}, indent=4),
    "filter-log-events, one line": json.dumps({"searchedLogStreams": [], "events": made.events(MIXED)}),
    "filter-log-events, pages": "\n".join(json.dumps({"events": [one]}, indent=4) for one in made.events(MIXED)),
    "its events alone": json.dumps(made.events(MIXED)),
    "its events, one a line": made.text(made.events(MIXED)),
    "filter-log-events --output text": as_text_output(MIXED),
    "get-query-results": json.dumps(made.insights(MIXED), indent=4),
    "Insights as CSV": made.insights_csv(MIXED),
    "Insights as CSV, saved by a spreadsheet": "\ufeff" + made.insights_csv(MIXED).replace("\n", "\r\n"),
    "Insights as JSON": json.dumps([{"@message": one, "@logStream": made.STREAM} for one in MIXED]),
    "Insights as JSON, messages parsed": json.dumps(
        [{"@message": json.loads(one) if one[0] == "{" else one, "@logStream": made.STREAM} for one in MIXED]
    ),
    "subscription": made.subscription(MIXED),
}
BARE = {
    "plain": made.text(MIXED),
    "Windows line ends": made.text(MIXED).replace("\n", "\r\n"),
    "tail --format short": "".join(f"2026-11-30T12:00:00 {one}\n" for one in MIXED),
    "jq .": "".join(json.dumps(json.loads(one), indent=2) + "\n" for one in TWO),
    "jq -S .": "".join(json.dumps(json.loads(one), indent=2, sort_keys=True) + "\n" for one in TWO),
    "jq -s .": json.dumps([json.loads(one) for one in TWO], indent=2),
    "get-log-events": json.dumps(
        {"events": [{"timestamp": 1, "message": one} for one in MIXED], "nextForwardToken": "f/1"}
    ),
    "Lambda's JSON log format": made.text(
        {"timestamp": "2026-11-30T12:00:00Z", "level": "INFO", "requestId": "1", "message": one} for one in MIXED
    ),
    "telemetry": made.text(
        {"time": "2026-11-30T12:00:00Z", "type": "function", "record": json.loads(one)} for one in TWO
    ),
    "Docker": made.text({"log": f"{one}\n", "stream": "stdout", "time": "2026-11-30T12:00:00Z"} for one in MIXED),
    "no line break at the end": made.text(TWO).rstrip("\n"),
}


def read(tmp_path: Path, content: str | bytes, name: str = "log", **more: Any) -> Logs:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return load([str(tmp_path / name)], say=lambda line: None, **more)


@pytest.mark.parametrize("form", FORMS)
def test_lines_are_found_in_whatever_surrounds_them_and_get_their_stream(form: str, tmp_path: Path) -> None:
    logs = read(tmp_path, FORMS[form])
    assert logs.frame["at"].dt.epoch("ms").to_list() == [made.START, made.START + 5]
    assert logs.frame["environment"].cast(pl.String).to_list() == [made.STREAM] * 2
    assert (logs.counted.ours, logs.counted.broken) == (2, 0)


@pytest.mark.parametrize("form", BARE)
def test_lines_are_found_where_no_stream_is_named(form: str, tmp_path: Path) -> None:
    logs = read(tmp_path, BARE[form])
    assert logs.frame["duration"].to_list() == [100.0, 100.0]
    assert logs.frame["environment"].to_list() == [None, None]
    assert (logs.counted.ours, logs.counted.broken) == (2, 0)


@pytest.mark.parametrize("form", ["plain", "tail", "filter-log-events", "Insights as CSV", "subscription"])
def test_lines_of_others_are_counted(form: str, tmp_path: Path) -> None:
    assert read(tmp_path, {**FORMS, **BARE}[form]).counted.foreign == 4


def test_an_environment_that_a_line_names_itself_is_kept(tmp_path: Path) -> None:
    frame = read(tmp_path, f"{STAMP} {made.STREAM} {json.dumps(made.line())}\n").frame
    assert frame["environment"].to_list() == ["local-1-a"]


@pytest.mark.parametrize("form", [*FORMS, *BARE])
def test_packed_is_as_good_as_plain(form: str, tmp_path: Path) -> None:
    logs = read(tmp_path, gzip.compress({**FORMS, **BARE}[form].encode()), "log.txt")
    assert (logs.counted.ours, logs.counted.broken) == (2, 0)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("form", [*FORMS, *BARE])
def test_what_windows_powershell_writes_is_read_too(form: str, encoding: str, tmp_path: Path) -> None:
    text = ("\ufeff" + {**FORMS, **BARE}[form].replace("\n", "\r\n")).encode(encoding)
    logs = read(tmp_path, text)
    assert (logs.counted.ours, logs.counted.broken) == (2, 0)


def test_an_export_to_s3_is_read_as_a_folder_with_its_streams(tmp_path: Path) -> None:
    for stream, at in (("2026-11-30-[$LATEST]aaaa", 50), ("2026-11-30-[$LATEST]bbbb", 20)):
        folder = tmp_path / "exportedlogs/6c2d" / stream
        folder.mkdir(parents=True)
        (folder / "000000.gz").write_bytes(made.export([*made.FOREIGN[:3], made.without_environment(at)]))
    (tmp_path / "exportedlogs/aws-logs-write-test").write_text("Permission Check Successful")
    logs = load([str(tmp_path)])
    assert logs.frame["environment"].to_list() == ["2026-11-30-[$LATEST]bbbb", "2026-11-30-[$LATEST]aaaa"]
    assert (logs.counted.ours, logs.counted.foreign) == (2, 7)
    assert [read.lines for read in logs.counted.sources] == [1, 4, 4]


def test_stdin_is_read_where_a_dash_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = io.BytesIO(gzip.compress(made.text(MIXED).encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(packed)))  # type: ignore[type-var]
    assert load(["-"]).counted.ours == 2


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(made.text(TWO))
    assert load([str(tmp_path / "log"), str(tmp_path), f"{tmp_path}/./log"]).counted.ours == 2


def test_every_column_has_what_the_line_says(tmp_path: Path) -> None:
    more = {"QueueDuration": [7.5], "FaceDuration": [8.5], "S3GetDuration": [9.5], "S3PutDuration": [10.5]}
    (row,) = read(tmp_path, made.text([made.line(memory_size=1769, **more)])).frame.rows(named=True)
    expected = {
        **{"event": "conversion", "environment": "local-1-a"},
        **{"function": "animegan", "style": "cel", "source": "http-api", "precision": "bfloat16", "version": None},
        **{"kernel": "native", "processor": None},
        **{"duration": 100, "queue": 7.5, "decode": 5, "preprocess": 1, "inference": 84, "postprocess": 0.5},
        **{"encode": 2, "face": 8.5, "s3_get": 9.5, "s3_put": 10.5, "cpu": 91, "decode_cpu": 5.6},
        **{"inference_cpu": 83.8, "utilisation": 50, "memory": 307.1, "max_memory": 309.9},
        **{"input_pixels": 480_000, "output_pixels": 120_000, "input_bytes": 1000, "output_bytes": 5000},
        **{"input_format": "jpeg", "output_format": "png", "cold_start": False, "error": None, "threads": 2},
        **{"vcpus": 1.7, "memory_size": 1769, "load": 1.53, "steal": 0.01, "switches": 26, "major_faults": 1},
        **{"minor_faults": 5119, "cache": "miss", "progressive": True},
        **{"init": None, "import_ms": None, "load_ms": None, "warm_up_ms": None},
    }
    assert set(expected) == set(SCHEMA) - {"at"}
    assert row.pop("at") == datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert {name: round(cell, 4) if isinstance(cell, float) else cell for name, cell in row.items()} == expected


def test_of_the_columns_only_those_are_made_that_are_asked_for(tmp_path: Path) -> None:
    frame = read(tmp_path, made.text([made.line()]), only=["duration", "output_pixels"]).frame
    assert set(frame.columns) == {"at", "environment", "duration", "output_pixels"}
    assert (frame["duration"][0], frame["output_pixels"][0]) == (100, 120_000)


def test_an_init_line_has_its_times(tmp_path: Path) -> None:
    (row,) = read(tmp_path, made.text([made.init(version="0.1.0")])).frame.rows(named=True)
    assert [row[name] for name in ("init", "import_ms", "load_ms", "warm_up_ms")] == [3000, 2000, 200, 800]
    assert (row["event"], row["version"], row["duration"]) == ("init", "0.1.0", None)


def test_what_the_handler_writes_is_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stages = Stages(queued=0.25)
    for name in ("decode", "preprocess", "inference", "postprocess", "encode"):
        with stages(name):
            sum(range(20_000))
    writer = LogLines(vcpus=2, threads=1)
    writer.init("cel", 1.5, {"version": "1", "import_ms": 7.5})
    more = {"cold_start": True, "output_width": 4, "output_height": 5}
    writer.conversion(stages, "cel", "http-api", 640, None, more)
    writer.skipped("s3-sqs", {"reason": "none"})
    logs = read(tmp_path, capsys.readouterr().out)
    assert (logs.counted.ours, logs.counted.broken) == (3, 0)
    assert logs.frame["event"].to_list() == ["init", "conversion", "skipped"]
    _, row, _ = logs.frame.rows(named=True)
    spent = stages.timings()
    assert {name: row[name] for name in spent if name != "total"} == pytest.approx(
        {name: took for name, took in spent.items() if name != "total"}, rel=1e-5
    )
    assert (row["output_pixels"], row["input_pixels"], row["cold_start"], row["environment"]) == (
        *(20, 640, True),
        writer.environment,
    )
    assert row["inference_cpu"] == pytest.approx(stages.used["inference"].cpu * 1000, abs=0.06)


def test_lines_are_in_the_order_of_time_whatever_the_order_of_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(made.text([made.line(9, Duration=[9.0]), made.line(2, Duration=[2.0])]))
    (tmp_path / "b").write_text(made.text([made.line(5, Duration=[5.0])]))
    frame = load([str(tmp_path / "a"), str(tmp_path / "b")]).frame
    assert frame["duration"].to_list() == [2.0, 5.0, 9.0]
    assert frame.schema == SCHEMA


def test_lines_outside_the_range_are_counted_and_since_is_in_it_and_until_is_not(tmp_path: Path) -> None:
    start = datetime(2026, 11, 30, 12, tzinfo=UTC)
    some = made.text([made.line(at * 1000) for at in range(5)])
    logs = read(tmp_path, some, since=start + timedelta(seconds=1), until=start + timedelta(seconds=3))
    assert logs.frame["at"].to_list() == [start + timedelta(seconds=1), start + timedelta(seconds=2)]
    assert logs.counted.out_of_range == 3
    assert logs.counted.outside() == (start, start + timedelta(seconds=4))


def test_more_lines_than_one_piece_make_one_table(tmp_path: Path) -> None:
    count = 20_500
    content = "".join(made.text([made.line(count - index)]) for index in range(count))
    frame = read(tmp_path, content).frame
    assert frame.height == count
    assert frame["at"].is_sorted()
    assert frame["at"].dt.epoch("ms").sum() == count * made.START + count * (count + 1) // 2


def test_a_log_without_lines_is_an_empty_table_with_every_column(tmp_path: Path) -> None:
    frame = read(tmp_path, "").frame
    assert frame.is_empty()
    assert frame.schema == SCHEMA


@pytest.mark.parametrize("missing", ["nothing", "folder"])
def test_a_source_that_is_not_there_is_named(missing: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadLog, match=missing):
        load([str(tmp_path / missing)])
