"""The trial in a process of its own: a crash, or being killed for memory, is then a finding and not the end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.text import shown

ROOT = Path(__file__).parents[2]
LONGEST_S = 600.0


@dataclass(frozen=True, slots=True)
class Trial:
    """What it told step by step, how it ended, and the last that it said on stderr."""

    facts: Mapping[str, Any]
    code: int
    stderr: str = ""

    def ended(self) -> str:
        """How, in words."""
        if self.code < 0:
            name = signal.Signals(-self.code).name
            hint = (
                "; so does the kernel with too much memory taken, or CPU time over ulimit -t"
                if name == "SIGKILL"
                else ""
            )
            return f"ended by {name}{hint}"
        return f"exit code {self.code}"


def run(side: int, environment: Mapping[str, str], longest_s: float = LONGEST_S) -> Trial:
    """Photos of SMALL and `side` pixels through the real function, in this environment."""
    command = [sys.executable, "-m", "infra.doctor.trial", str(side)]
    given = {**environment, "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            command, env=given, capture_output=True, timeout=longest_s, text=True, errors="replace"
        )
    except subprocess.TimeoutExpired as late:
        return Trial(_facts(_text(late.stdout)), 1, f"not done after {longest_s:.0f} s")
    except (OSError, ValueError) as error:
        return Trial({}, 1, str(error))
    return Trial(_facts(done.stdout), done.returncode, _last(done.stderr))


def _facts(out: str) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for line in out.splitlines():
        try:
            said = json.loads(line)
        except ValueError:  # the last one, if it was cut off
            continue
        facts |= said if isinstance(said, dict) else {}
    return facts


def _last(stderr: str) -> str:
    said = [line.strip() for line in stderr.splitlines() if line.strip()]
    return shown(" ".join(said[-2:]))[-500:]


def _text(out: bytes | str | None) -> str:
    return out.decode(errors="replace") if isinstance(out, bytes) else out or ""
