"""What must not change a verdict, and tables that nobody should ever see."""

from __future__ import annotations

import json
import math
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.diagnose import Cause, diagnose
from infra.diagnose.text import as_text
from tests.infra.diagnose_frames import Part, log

STAGES = ("decode", "preprocess", "inference", "postprocess", "encode")
TIMES = ("duration", "queue", *STAGES, "inference_cpu", "decode_cpu", "cpu")
CASES = {
    "larger": (Part(), Part(sides=(288,))),
    "contention": (Part(), Part(stretch=2.5, switching=2000)),
    "png": (Part(), Part(outputs=("png",))),
    "clean": (Part(), Part()),
}
few = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@few
@given(st.sampled_from(sorted(CASES)), st.floats(0.3, 30))
def test_a_machine_of_another_speed_has_the_same_verdict(case: str, times: float) -> None:
    frame = log(*CASES[case])
    slower = frame.with_columns(pl.col(*TIMES) * times, switches=pl.col("switches") * times)
    assert diagnose(slower).cause is diagnose(frame).cause


@few
@given(st.sampled_from(sorted(CASES)), st.text(min_size=1), st.randoms(use_true_random=False))
def test_names_of_environments_and_order_of_columns_mean_nothing(case: str, name: str, random: object) -> None:
    frame = log(*CASES[case])
    columns = frame.columns
    random.shuffle(columns)  # type: ignore[attr-defined]
    renamed = frame.select(columns).with_columns(environment=pl.lit(name))
    assert diagnose(renamed).cause is diagnose(frame).cause


@few
@given(st.sampled_from(sorted(CASES)), st.integers(-10_000, 10_000))
def test_the_date_means_nothing(case: str, days: int) -> None:
    frame = log(*CASES[case])
    assert diagnose(frame.with_columns(pl.col("at") + timedelta(days=days))).cause is diagnose(frame).cause


@few
@given(st.integers(0, 1000), st.floats(0.02, 0.4), st.sampled_from([(192,), (128, 256, 320), (96, 512)]))
def test_noise_raises_no_alarm(seed: int, noise: float, sides: tuple[int, ...]) -> None:
    assert diagnose(log(Part(90, noise=noise, sides=sides), seed=seed)).cause is Cause.NO_CHANGE


@few
@given(st.integers(0, 1000))
def test_shuffling_a_change_over_time_leaves_none(seed: int) -> None:
    """The same conversions in a random order: sizes, formats and neighbours are mixed, and nothing began."""
    frame = log(Part(), Part(sides=(288,), outputs=("png",), stretch=1.9, switching=2000), seed=seed)
    frame = frame.filter(pl.col("event") == "conversion").with_columns(cold_start=pl.lit(False))
    apart = frame["at"][0] + pl.duration(seconds=pl.int_range(pl.len()))  # so that none overlap
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed).with_columns(at=apart)
    assert not [one for one in diagnose(shuffled).causes if one.since]


BROKEN = {
    "one row": lambda frame: frame.head(1),
    "no rows": lambda frame: frame.clear(),
    "only `at` and `event`": lambda frame: frame.select("at", "event"),
    "all null": lambda frame: frame.with_columns(
        pl.lit(None).cast(frame.schema[name]).alias(name) for name in frame.columns if name not in ("at", "event")
    ),
    "all times NaN": lambda frame: frame.with_columns(pl.lit(math.nan).alias(name) for name in TIMES),
    "all times infinite": lambda frame: frame.with_columns(pl.lit(math.inf).alias(name) for name in TIMES),
    "all times negative": lambda frame: frame.with_columns(-pl.col(name) for name in TIMES),
    "all times zero": lambda frame: frame.with_columns(pl.lit(0.0).alias(name) for name in TIMES),
    "all times huge": lambda frame: frame.with_columns(pl.lit(1e300).alias(name) for name in TIMES),
    "constant": lambda frame: frame.with_columns(pl.lit(5.0).alias(name) for name in TIMES),
    "no pixels": lambda frame: frame.with_columns(output_pixels=pl.lit(0), input_pixels=pl.lit(0)),
    "no CPUs": lambda frame: frame.with_columns(vcpus=pl.lit(0.0), threads=pl.lit(0)),
    "no times of day": lambda frame: frame.with_columns(at=pl.lit(None).cast(frame.schema["at"])),
    "all at once": lambda frame: frame.with_columns(at=pl.lit(frame["at"][0])),
    "all failed": lambda frame: frame.with_columns(error=pl.lit("internal_error")),
    "all refused": lambda frame: frame.with_columns(error=pl.lit("busy")),
    "all cold": lambda frame: frame.with_columns(cold_start=pl.lit(True)),
    "all hits": lambda frame: frame.with_columns(cache=pl.lit("hit")),
    "no event": lambda frame: frame.with_columns(event=pl.lit(None).cast(pl.String)),
    "every conversion its own environment": lambda frame: frame.with_columns(
        environment=pl.int_range(pl.len()).cast(pl.String)
    ),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("case", ["clean", "contention"])
@pytest.mark.filterwarnings("error")
def test_no_table_is_too_odd(name: str, case: str) -> None:
    """There is a verdict, JSON that every parser takes, and a text; no warning of a division either."""
    found = diagnose(BROKEN[name](log(*CASES[case])))
    json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert as_text(found)


def test_a_clock_that_jumps_back_is_no_trouble() -> None:
    frame = log(*CASES["clean"])
    back = frame["at"] - timedelta(hours=3)
    jumped = frame.with_columns(at=pl.when(pl.int_range(pl.len()) > 60).then(back).otherwise(pl.col("at")))
    assert diagnose(jumped).cause is Cause.NO_CHANGE


def test_damaged_values_here_and_there_change_nothing() -> None:
    frame = log(*CASES["contention"])
    damaged = pl.int_range(pl.len()) % 7 == 3
    bad = [math.nan, math.inf, -1.0, 1e300, -math.inf, math.nan, 1e300, math.nan, -5.0, math.inf]
    values = [
        pl.when(damaged).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
        for name, value in zip(TIMES, bad, strict=True)
    ]
    assert diagnose(frame.with_columns(values)).cause is Cause.CPU_CONTENTION


@pytest.mark.parametrize(
    "column", [*TIMES, "threads", "vcpus", "load", "steal", "switches", "major_faults", "memory", "cache", "style"]
)
def test_a_column_that_is_missing_raises_no_alarm(column: str) -> None:
    assert diagnose(log(*CASES["clean"]).drop(column)).cause is Cause.NO_CHANGE


def test_a_hundred_thousand_conversions_of_many_environments_are_read() -> None:
    """No timing: it is about indices that run past an end, and squares that do not fit into memory."""
    one = log(Part(100), Part(100, stretch=2.0, switching=2000)).filter(pl.col("event") == "conversion")
    many = pl.concat([one.with_columns(environment=pl.lit(f"e{number}")) for number in range(500)])
    found = diagnose(many.sort("at"))
    assert found.conversions == 100_000
    assert found.cause is Cause.CPU_CONTENTION
    assert len(found.causes[0].environments) == 500


def test_random_tables_have_a_verdict() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        frame = log(*CASES["png"])
        for name in random.choice(frame.columns, 6, replace=False):
            if name not in ("at", "event"):
                frame = frame.with_columns(frame[name].shuffle(seed=int(random.integers(1 << 30))))
        assert isinstance(diagnose(frame).cause, Cause)
