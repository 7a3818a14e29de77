"""What is read from /proc, against psutil, which reads it in its own way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from handler import counters

MIB = 2**20
linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="/proc is Linux's")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A system without these files."""
    counters._kept.cache_clear()
    for name in ("MEMORY", "CPUS", "LOAD"):
        monkeypatch.setattr(counters, name, "/no/such/file")
    yield
    counters._kept.cache_clear()


def test_resident_memory_is_what_psutil_says() -> None:
    assert counters.resident() == pytest.approx(psutil.Process().memory_info().rss, abs=8 * MIB)


def test_resident_memory_grows_with_what_is_written_to() -> None:
    before = counters.resident()
    held = bytearray(os.urandom(64 * MIB))
    assert counters.resident() - before > 60 * MIB
    del held


def test_stolen_time_is_what_psutil_says() -> None:
    assert counters.stolen() == pytest.approx(getattr(psutil.cpu_times(), "steal", 0.0), abs=0.5)


def test_the_load_is_what_the_library_says() -> None:
    assert counters.load_average() == pytest.approx(os.getloadavg(), abs=0.5)


@pytest.mark.usefixtures("elsewhere")
def test_without_proc_the_figures_are_psutil_s() -> None:
    assert counters.resident() == pytest.approx(psutil.Process().memory_info().rss, abs=8 * MIB)
    assert counters.stolen() == pytest.approx(getattr(psutil.cpu_times(), "steal", 0.0), abs=0.5)
    assert counters.load_average() == pytest.approx(os.getloadavg(), abs=0.5)


@linux
def test_a_file_that_somebody_closed_is_asked_of_psutil_instead() -> None:
    counters.resident()
    os.close(counters._kept(counters.MEMORY))
    try:
        assert counters.resident() == pytest.approx(psutil.Process().memory_info().rss, abs=8 * MIB)
    finally:
        counters._kept.cache_clear()


@linux
def test_a_forked_process_reads_its_own_memory_and_not_its_parent_s() -> None:
    program = (
        "import os; from handler import counters; held = bytearray(os.urandom(200 << 20)); counters.resident()\n"
        "if not os.fork():\n"
        "    held = None; print(counters.resident() >> 20, flush=True); os._exit(0)\n"
        "os.wait(); print(counters.resident() >> 20)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    child, parent = (int(line) for line in done.stdout.split())
    assert parent >= 200
    assert child < 150
