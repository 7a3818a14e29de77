"""The recorder: what each stage is charged with."""

from __future__ import annotations

import mmap
import resource
import time

import pytest

from handler.stages import STAGES, TIMED, Stages, Usage, milliseconds


def busy(seconds: float) -> None:
    """Use CPU for so long."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        sum(range(1000))


def test_waiting_costs_wall_time_and_working_costs_cpu_time() -> None:
    stages = Stages()
    with stages("decode"):
        time.sleep(0.05)
    with stages("inference"):
        busy(0.05)
    assert stages.used["decode"].wall >= 0.05
    assert stages.used["decode"].cpu < 0.04
    assert stages.used["inference"].cpu >= 0.045


def test_a_stage_that_is_entered_twice_adds_up() -> None:
    stages = Stages()
    for _ in range(2):
        with stages("encode"):
            time.sleep(0.02)
    assert stages.used["encode"].wall >= 0.04


def test_a_stage_that_raises_is_recorded_and_the_error_goes_on() -> None:
    stages = Stages()
    with pytest.raises(ZeroDivisionError), stages("decode"):
        1 / 0  # noqa: B018
    assert list(stages.used) == ["decode"]


def test_timings_are_in_the_pipeline_s_order_whatever_the_order_of_entering() -> None:
    stages = Stages(queued=0.5)
    for name in reversed(TIMED[1:]):
        with stages(name):
            pass
    assert list(stages.timings()) == [*TIMED, "total"]
    assert set(STAGES) < set(TIMED)


def test_the_wait_for_a_slot_counts_in_the_total_of_the_timings_and_not_as_usage() -> None:
    stages = Stages(queued=2.0)
    assert stages.queued == 2.0
    assert stages.timings()["queue"] == 2000.0
    assert stages.timings()["total"] >= 2000.0
    assert stages.total().wall < 1.0


def test_without_a_wait_there_is_no_queue_in_the_timings() -> None:
    assert list(Stages().timings()) == ["total"]
    assert Stages().queued == 0.0


def test_page_faults_of_new_memory_are_counted() -> None:
    stages = Stages()
    with mmap.mmap(-1, 16 * 2**20) as fresh:  # malloc may hand out what it has already
        fresh.write(bytes(len(fresh)))
    assert stages.total().minor_faults > 0


def test_usage_is_subtracted_field_by_field() -> None:
    a, b = Usage(1.5, 1.0, 10, 2, 3), Usage(0.5, 0.25, 4, 1, 1)
    assert a - b == Usage(1.0, 0.75, 6, 1, 2)


def test_the_kernel_s_two_counts_of_cpu_time_agree() -> None:
    before, stages = resource.getrusage(resource.RUSAGE_SELF), Stages()
    busy(0.1)
    used, after = stages.total().cpu, resource.getrusage(resource.RUSAGE_SELF)
    counted = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used == pytest.approx(counted, abs=0.02)


def test_steal_time_never_runs_backwards() -> None:
    assert Stages().stolen() >= 0.0


def test_milliseconds_are_rounded_to_ten_microseconds() -> None:
    assert milliseconds(0.123456789) == 123.46
