"""Every awkward picture ends in a picture or a named error, soon and in little memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.awkward_table import Row, table

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "awkward.md"


@pytest.fixture(scope="module")
def sweep(shared: Callable[[str], Path]) -> dict[str, Any]:
    """All files in a process of their own, so that its peak of memory is theirs."""
    folder = shared("data/awkward")
    pytest.importorskip("pillow_heif", reason="the table is made with the extra `heic`")
    environment = {**os.environ, "ANIMEGAN_SHARED": str(folder.parents[1])}
    command = [sys.executable, "-m", "tests.awkward_table", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"something else than a ConversionError: {done.stderr[-3000:]}"
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_every_file_is_decoded_or_refused_within_two_seconds_of_cpu(sweep: dict[str, Any]) -> None:
    slow = {row["file"]: row["decoding"] for row in sweep["rows"] if row["decoding"] > 2}
    assert not slow


def test_all_of_them_together_stay_under_one_gigabyte(sweep: dict[str, Any]) -> None:
    assert sweep["peak_mib"] < 1024


def test_the_committed_table_says_what_happens(sweep: dict[str, Any]) -> None:
    now = table([Row(**row) for row in sweep["rows"]]).splitlines()
    committed = TABLE.read_text(encoding="utf-8").splitlines()
    assert now == committed, "make it again: python -m tests.awkward_table > docs/awkward.md"
