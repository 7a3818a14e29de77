"""Runs that are kept: a folder each, with the log as it was printed and a label that says what was done.

A run is made in a folder beside it and moved into place when it is whole, so what is there was never cut short.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from infra.bench import machine
from infra.errors import BadRequest
from infra.faults.disturbance import MOST, Disturbed
from infra.faults.perform import LOG, Seen, perform
from infra.faults.scenario import Run, Scenario, Set
from infra.text import shown

LABEL = "label.json"
PART = ".part-"


@dataclass(frozen=True, slots=True)
class Label:
    """What a run was; `seen` is what was measured outside of its log."""

    set: Set
    cause: str
    number: int
    strength: dict[str, Any]
    scenario: dict[str, Any]
    seen: dict[str, Any]
    seconds: float
    machine: dict[str, str]

    @classmethod
    def read(cls, folder: Path) -> Label:
        """Raises BadRequest where it is none of ours."""
        try:
            return cls(**json.loads((folder / LABEL).read_text()))
        except (OSError, ValueError, TypeError) as error:
            raise BadRequest(f"{shown(folder / LABEL)} is no label of a run: {error}") from None


def make(run: Run, where: Path, styles: Path, noisy: bool = False) -> Label:
    """Perform it and keep it below `where`. Raises what `perform` does, and OSError; then nothing is kept."""
    part = where / f"{PART}{run.name}"
    shutil.rmtree(part, ignore_errors=True)
    begun, described = time.monotonic(), machine.described()
    try:
        seen = perform(run, part, styles, noisy)
        label = _label(run, seen, time.monotonic() - begun, described)
        (part / LABEL).write_text(json.dumps(asdict(label), indent=1) + "\n")
        shutil.rmtree(where / run.name, ignore_errors=True)  # of an older plan
        os.replace(part, where / run.name)
    except Disturbed as error:
        raise Disturbed(f"{run.name}: {error}") from None
    except BadRequest as error:
        raise BadRequest(f"{run.name}: {error}{_last_words(part)}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return label


def has(run: Run, where: Path, noisy: bool = False) -> bool:
    """Whether it is kept, as the plan has it now; one that was disturbed counts only if that is taken."""
    try:
        label = Label.read(where / run.name)
    except BadRequest:
        return False
    quiet = noisy or max(label.seen["others"]) <= MOST
    return quiet and label.scenario == _plain(run.scenario) and (where / run.name / LOG).is_file()


def kept(where: Path) -> Iterator[tuple[Path, Label]]:
    """(log, label) of each. Raises BadRequest."""
    for folder in sorted(where.iterdir()):
        if (folder / LABEL).is_file() and not folder.name.startswith(PART):
            yield folder / LOG, Label.read(folder)


def _label(run: Run, seen: Seen, seconds: float, described: dict[str, str]) -> Label:
    scenario, strength = _plain(run.scenario), json.loads(json.dumps(run.strength))
    return Label(run.set, run.cause, run.number, strength, scenario, asdict(seen), round(seconds, 1), described)


def _plain(scenario: Scenario) -> dict[str, Any]:
    """As it is read back from JSON, which has no tuples."""
    read: dict[str, Any] = json.loads(json.dumps(asdict(scenario)))
    return read


def _last_words(part: Path) -> str:
    try:
        lines = (part / LOG).read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f"; the log ends: {lines[-1][:300]}" if lines else ""
