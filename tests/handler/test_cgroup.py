"""CPU quotas of cgroups, laid out as the kernel does (cgroups(7)), and a real one where it can be made."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from handler import cgroup

SERVICE = "0::/system.slice/anime.service\n"
# Version 1 in a container: the paths are the host's, and what is mounted is the container's own.
CONTAINER = "4:memory:/docker/1f\n2:cpuset:/\n1:cpu,cpuacct:/docker/1f\n"
HYBRID = "1:name=systemd:/user.slice\n3:cpu:/user.slice\n0::/user.slice\n"


def cpus(root: Path, membership: str, files: dict[str, str]) -> float:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "membership").write_text(membership)
    return cgroup.cpus(root, root / "membership")


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ("150000 100000\n", 1.5),
        ("25000 50000", 0.5),
        ("max 100000\n", math.inf),
        ("", math.inf),
        ("1 0", math.inf),
    ],
)
def test_a_container_of_version_2_has_its_quota_at_the_root(tmp_path: Path, quota: str, expected: float) -> None:
    assert cpus(tmp_path, "0::/\n", {"cpu.max": quota}) == expected


def test_a_service_is_bounded_by_its_own_quota_and_those_above(tmp_path: Path) -> None:
    assert cpus(tmp_path, SERVICE, {"system.slice/anime.service/cpu.max": "300000 100000\n"}) == 3
    assert cpus(tmp_path, SERVICE, {"system.slice/cpu.max": "200000 100000\n"}) == 2
    assert cpus(tmp_path, SERVICE, {"cpu.max": "max 100000\n"}) == 2


def test_version_1_has_its_quota_in_two_files(tmp_path: Path) -> None:
    files = {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}
    assert cpus(tmp_path, CONTAINER, files) == math.inf
    assert cpus(tmp_path, CONTAINER, {"cpu/cpu.cfs_quota_us": "50000\n"}) == 0.5
    own = {"cpu/user.slice/cpu.cfs_quota_us": "40000\n", "cpu/user.slice/cpu.cfs_period_us": "100000\n"}
    assert cpus(tmp_path, HYBRID, own) == 0.4


def test_where_there_are_no_cgroups_there_is_no_quota(tmp_path: Path) -> None:
    assert cgroup.cpus(tmp_path, tmp_path / "none") == math.inf
    assert cpus(tmp_path, "0::/../../elsewhere\n", {}) == math.inf


@pytest.fixture
def half(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A real cgroup with half a CPU."""
    for root, name, quota in (
        (cgroup.ROOT / "cpu", "cpu.cfs_quota_us", "50000"),
        (cgroup.ROOT, "cpu.max", "50000 100000"),
    ):
        folder = root / f"animegan-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        if (folder / name).exists():
            (folder / name).write_text(quota)
            yield folder
            folder.rmdir()
            return
        with suppress(OSError):
            folder.rmdir()
    pytest.skip("no cgroup can be made here")


def test_a_real_quota_is_seen_by_a_process_that_is_in_it(half: Path) -> None:
    program = "from handler import cgroup; print(cgroup.cpus())"
    command = f"echo $$ > {half}/cgroup.procs && exec {sys.executable} -c '{program}'"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, timeout=60)
    assert float(done.stdout) == 0.5
