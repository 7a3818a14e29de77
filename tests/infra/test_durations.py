"""Seconds per picture from the function's log, whatever else is in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.durations import from_log
from infra.errors import BadRequest


def line(duration: Any, **more: Any) -> str:
    return json.dumps({"event": "conversion", "error": None, "Duration": [duration]} | more)


def test_seconds_come_from_log_lines_of_conversions_that_went_well(tmp_path: Path) -> None:
    log = tmp_path / "log"
    noise = ["START", "{torn", "[1]", line(9e9, event="init"), line(9e9, error="x"), line(9e9, Duration=[])]
    noise.append(line(0.1, cache="hit"))
    log.write_text("\n".join([*noise, line(1000.0), f"2026-11-30T08:00:00Z\t{line(3000.0)}", line(1200.0)]))
    assert (from_log(log).value, from_log(log).origin) == (1.2, f"median of 3 conversions, {log}")
    log.write_text("\n".join([line(1000.0), line(2500.0, S3PutDuration=[80.0])]))
    assert (from_log(log).value, from_log(log).origin) == (2.5, f"median of 1 S3 conversion, {log}")


ODD = [
    *(line(value) for value in (0, "x", {}, [1], -5, True, "1", None, [])),
    *(line(value) for value in (float("nan"), float("inf"), 1e300, 10**400)),
    *(line(1000.0, Duration=value) for value in (None, {}, [], [None], "1", True, -5)),
    '{"event": "conversion", "error": null, "Duration": [1e999]}',
    '{"event": "conversion", "error": null, "Duration": [' + "9" * 5000 + "]}",
    '{"event": "conversion", "Duration": ' + "[" * 100_000,
]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_a_line_whose_times_are_none_is_left_out(tmp_path: Path, odd: str) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join([odd, line(1000.0), odd]))
    assert (from_log(log).value, from_log(log).origin) == (1.0, f"median of 1 conversion, {log}")
    log.write_text(odd)
    with pytest.raises(BadRequest, match="no line of a conversion"):
        from_log(log)
