"""What benchmarks are made of; the benchmark of the image itself needs Docker, see tests/image."""

from __future__ import annotations

from pathlib import Path

from infra.bench import machine
from infra.bench.coldstart import ColdStart, imported_by
from infra.bench.container import Size
from infra.bench.image import Conversions, variants
from infra.bench.table import markdown, spread
from tests.infra.conftest import Run

# python -X importtime: times in µs, and what a module imported stands above it, indented by two more.
REPORT = """\
import time: self [us] | cumulative | package
import time:       100 |      60000 |     torch._C
import time:     10000 |     900000 |   torch
import time:       100 |      15000 |     numpy
import time:       200 |      25000 |     handler.image
import time:       300 |      70000 |     cv2
import time:       300 |      80000 |   handler.decoders
import time:       100 |    1000000 | handler
something else on stderr
"""


def test_slow_imports_are_named_if_they_are_others_and_ours_asked_for_them() -> None:
    assert imported_by("handler", REPORT) == [("torch", 900.0), ("cv2", 70.0)]


def test_the_ratio_of_a_cold_start_is_the_median_of_the_rounds() -> None:
    assert ColdStart(torch=[100.0, 200.0, 100.0], init=[150.0, 260.0, 900.0]).ratio() == 1.5


def test_gb_seconds_and_their_price_are_those_of_the_memory_size() -> None:
    measured = Conversions(Size(2048, 1.16), duration=[900.0, 1000.0, 5000.0])
    assert measured.gb_seconds() == 2.0
    # 1,000 times: 2 GB-s at 0.0000166667 USD, and a call at 0.20 USD a million
    assert round(measured.usd_per_1000(), 6) == round(1000 * (2 * 0.0000166667 + 0.0000002), 6)


def test_a_size_has_the_cpus_that_lambda_gives_for_it() -> None:
    assert (Size.of(1769).cpus, Size.of(3538).cpus, Size.of(885).cpus) == (1.0, 2.0, 0.5)


def test_variants_are_each_size_as_it_is_and_with_each_set_of_variables() -> None:
    named = variants("image", [Size.of(1769), Size.of(3538)], ["A=1,B=", "C=x=y"])
    always = {"CACHE_BYTES": "0"}  # or all but the first conversion of a photo would be none
    assert [(one.size.memory_mb, one.environment) for one in named.values()] == [
        (1769, always),
        (3538, always),
        (1769, {**always, "A": "1", "B": ""}),
        (3538, {**always, "A": "1", "B": ""}),
        (1769, {**always, "C": "x=y"}),
        (3538, {**always, "C": "x=y"}),
    ]
    assert list(named)[2] == "1,769 MB, 1 vCPU A=1,B="


def test_a_table_is_markdown_with_figures_to_the_right() -> None:
    assert markdown(["name", "ms"], [["a", 1], ["bcdef", spread([3.0, 1.0, 2.0])]]) == (
        "| name  |    ms |\n| ----- | ----: |\n| a     |     1 |\n| bcdef | 2 (1) |"
    )


def test_the_machine_is_described_by_what_figures_depend_on() -> None:
    said = machine.described()
    assert {"CPU", "features", "CPUs", "system", "torch", "numpy"} <= said.keys()
    assert int(said["CPUs"]) >= 1


def test_a_benchmark_without_docker_says_what_it_needs(animegan: Run, tmp_path: Path) -> None:
    done = animegan("bench", "image", env={"PATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "animegan: this needs docker, and an engine that runs\n"


def test_an_image_that_is_not_there_is_named(animegan: Run, tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\necho "Error: No such image: $4" >&2\nexit 1\n')
    docker.chmod(0o755)
    done = animegan("bench", "image", "--image", "nowhere", env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert done.returncode == 1
    assert "docker run failed: Error: No such image" in done.stderr
