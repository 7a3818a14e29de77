"""The reader before damage and malice: everything is counted, nothing is lost, nothing crashes."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars", reason="the extra `report` is not installed")
pytest.importorskip("msgspec", reason="the extra `report` is not installed")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.logs import Logs, load
from tests.infra import log_lines as made

GOOD = json.dumps(made.line())
BROKEN = {
    "cut off": GOOD[:-40],
    "cut off early": GOOD[:30],
    "text for a number": json.dumps(made.line(Duration=["fast"])),
    "text for a list": json.dumps(made.line(Duration="100")),
    "no duration": json.dumps(made.line(Duration=None)),
    "an empty duration": json.dumps(made.line(Duration=[])),
    "below zero": json.dumps(made.line(Duration=[-1.0])),
    "no number": GOOD.replace('"Duration": [100.0]', '"Duration": [NaN]'),
    "infinity": GOOD.replace('"Duration": [100.0]', '"Duration": [Infinity]'),
    "too large a number": GOOD.replace('"Duration": [100.0]', '"Duration": [1e999]'),
    "more digits than there are": GOOD.replace('"Duration": [100.0]', f'"Duration": [{"9" * 5000}]'),
    "no time": json.dumps(made.line(_aws={})),
    "time as text": json.dumps(made.line(_aws={"Timestamp": "2026-11-30"})),
    "before 1970": json.dumps(made.line(_aws={"Timestamp": -1})),
    "after 2100": json.dumps(made.line(_aws={"Timestamp": 10**17})),
    "a style that is none": json.dumps(made.line(Style=7)),
    "no style": json.dumps(made.line(Style=None)),
    "an endless style": json.dumps(made.line(Style="x" * 600)),
    "more pixels than there are": json.dumps(made.line(InputPixels=[1e11])),
    "pixels below zero": json.dumps(made.line(output_width=-5)),
    "pixels over all bounds": json.dumps(made.line(output_width=10**30)),
    "a truth that is none": json.dumps(made.line(cold_start="yes")),
    "a stage that is none": json.dumps(made.line(stage_cpu=[1, 2])),
    "depth": GOOD[:-1] + ', "x": ' + "[" * 100_000,
}


def read(tmp_path: Path, content: bytes, said: list[str] | None = None) -> Logs:
    (tmp_path / "log").write_bytes(content)
    return load([str(tmp_path / "log")], say=(said if said is not None else []).append)


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_line_is_counted_and_its_neighbours_are_read(kind: str, tmp_path: Path) -> None:
    logs = read(tmp_path, f"{GOOD}\n{BROKEN[kind]}\n{GOOD}\n".encode())
    assert (logs.counted.ours, logs.counted.broken, logs.counted.foreign) == (2, 1, 0)


def test_a_line_behind_one_that_was_torn_is_found(tmp_path: Path) -> None:
    assert read(tmp_path, f"{GOOD[:700]}{GOOD}\n".encode()).counted.ours == 1


@pytest.mark.parametrize("other", made.FOREIGN)
def test_lines_of_others_are_no_broken_ones(other: str, tmp_path: Path) -> None:
    counted = read(tmp_path, f"{GOOD}\n{other}\n".encode()).counted
    assert (counted.ours, counted.broken, counted.foreign) == (1, 0, 1)


def test_metrics_as_numbers_are_taken_as_well(tmp_path: Path) -> None:
    frame = read(tmp_path, made.text([made.line(Duration=123.5, MemoryUsed=7)]).encode()).frame
    assert (frame["duration"][0], frame["memory"][0]) == (123.5, 7)


def test_steal_may_be_below_zero_as_the_kernels_counter_goes_back(tmp_path: Path) -> None:
    assert read(tmp_path, made.text([made.line(steal_time=-0.25)]).encode()).frame["steal"][0] == -0.25


def test_a_packed_file_that_ends_too_soon_gives_what_it_has(tmp_path: Path) -> None:
    said: list[str] = []
    many = made.text([made.line(at) for at in range(2000)]).encode()
    torn = gzip.compress(many)[:-2000]
    counted = read(tmp_path, torn, said).counted
    there = zlib.decompressobj(wbits=31).decompress(torn).count(b"\n")
    assert 0 < there < 2000
    assert counted.ours == pytest.approx(there, abs=10)  # zlib gives some more at once than in pieces
    assert counted.broken >= 1
    assert len(said) == 1
    assert "not complete" in said[0]


def test_what_stands_before_garbage_in_a_packed_file_is_read(tmp_path: Path) -> None:
    said: list[str] = []
    counted = read(tmp_path, gzip.compress(f"{GOOD}\n".encode()) + b"garbage", said).counted
    assert (counted.ours, counted.broken, len(said)) == (1, 1, 1)


def test_a_document_that_ends_too_soon_gives_what_it_has(tmp_path: Path) -> None:
    said: list[str] = []
    document = json.dumps({"events": made.events([GOOD, GOOD, GOOD])})
    counted = read(tmp_path, document[: -len(GOOD)].encode(), said).counted
    assert (counted.ours, counted.broken) == (2, 1)
    assert "ends too soon" in said[0]


def test_binary_files_are_left_out_and_named(tmp_path: Path) -> None:
    said: list[str] = []
    assert read(tmp_path, b"\x89PNG\r\n\0\0\0\rIHDR", said).counted.lines == 0
    assert "log: this is no text" in said[0]


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    endless = b"x" * (9 << 20)
    counted = read(tmp_path, endless + b"\n" + GOOD.encode() + b"\n").counted
    assert counted.ours == 1
    assert counted.foreign >= 1


def test_an_object_that_is_never_closed_does_not_swallow_the_next_line(tmp_path: Path) -> None:
    spread = json.dumps(made.line(), indent=2).splitlines()
    torn = "\n".join(spread[:-3])
    counted = read(tmp_path, f"{torn}\n2026-11-30T12:00:00 {GOOD}\n{GOOD}\n".encode()).counted
    assert counted.ours == 2
    assert counted.broken == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "log").touch(mode=0)
    with pytest.raises(Exception, match="log: Permission denied"):
        load([str(tmp_path / "log")])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_happens_to_a_log_every_line_is_counted(data: Any, tmp_path: Path) -> None:
    raw = bytearray(made.text([made.line(), *made.FOREIGN, made.init()]).encode())
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.sampled_from(b'{}[]"\\,:019e-\n\xff x'))
    logs = read(tmp_path, bytes(raw))
    assert logs.frame.height == logs.counted.ours
    assert logs.counted.lines >= 1
