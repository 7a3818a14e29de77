"""pyproject, lock files and documents say the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LOCKS = {"layers/runtime": [], "infra": ["cli"], "tests": ["cli", "heic", "s3", "train", "dev"]}


def locked(folder: str) -> dict[str, str]:
    text = (ROOT / folder / "requirements.txt").read_text()
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))


@pytest.mark.parametrize(("folder", "extras"), LOCKS.items())
def test_every_requirement_of_the_project_is_locked_within_its_bounds(folder: str, extras: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + [r for extra in extras for r in project["optional-dependencies"][extra]]
    pinned = locked(folder)
    for requirement in map(Requirement, wanted):
        if requirement.name != "torch":  # from PyTorch's own index, see the Makefile
            assert requirement.specifier.contains(pinned[requirement.name]), requirement


def test_no_lock_pulls_cuda_in() -> None:
    for folder in LOCKS:
        assert not {name for name in locked(folder) if name.startswith(("nvidia", "triton", "torch", "cuda"))}


def test_the_three_locks_agree() -> None:
    runtime, command_line, tests = (locked(folder) for folder in LOCKS)
    assert runtime.items() <= command_line.items() <= tests.items()


def test_what_the_page_is_tested_with_changes_nothing_of_the_other_locks() -> None:
    tests, page = locked("tests"), locked("tests/page")
    assert "playwright" in page
    assert all(page[name] == version for name, version in tests.items() if name in page)


def test_makefile_and_project_name_the_same_torch() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    torch = next(r for r in project["dependencies"] if r.startswith("torch"))
    assert f"TORCH := {torch}\n" in (ROOT / "Makefile").read_text()
