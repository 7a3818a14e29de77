"""What a check is: a state, what was measured, and what to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from handler.settings import Settings
from infra.doctor.trial_run import Trial
from infra.text import shown


class State(StrEnum):
    """`skipped`: could not be told, as something before it failed."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    SKIPPED = "skipped"


class Finding(NamedTuple):
    """`measured` in one line; `change` is what to do, nothing where all is well."""

    state: State
    measured: str
    change: str = ""


class Unknown(Exception):
    """A check that cannot be made, and why."""


@dataclass(frozen=True, slots=True)
class Check:
    """A finding and its name, for people and as JSON."""

    name: str
    state: State
    measured: str
    change: str


@dataclass(frozen=True, slots=True)
class Patient:
    """All that checks look at. `environment` is what the trial ran in; without settings they are wrong."""

    environment: Mapping[str, str]
    settings: Settings | None
    trial: Trial

    def configured(self) -> Settings:
        """Raises Unknown."""
        if self.settings is None:
            raise Unknown("the settings are wrong")
        return self.settings

    def fact(self, name: str) -> Any:
        """What the trial told of itself. Raises Unknown where it did not come so far."""
        if name not in self.trial.facts:
            raise Unknown("the trial ended before this could be seen")
        return self.trial.facts[name]

    def lines(self) -> list[str]:
        """All that the function printed, init first. Raises Unknown where it did not start."""
        later = [done for name in ("small", "large") for done in self.trial.facts.get(name, [])]
        return [line for step in [self.fact("started"), *later] for line in step["log"]]


Look = Callable[[Patient], Finding]


def examine(patient: Patient, looks: Sequence[tuple[str, Look]]) -> list[Check]:
    """Every check, whatever becomes of the others."""
    return [Check(name, *_found(look, patient)) for name, look in looks]


def _found(look: Look, patient: Patient) -> Finding:
    try:
        return look(patient)
    except Unknown as why:
        return Finding(State.SKIPPED, str(why))
    except Exception as defect:  # a doctor that falls ill helps nobody
        said = shown(f"{type(defect).__name__}: {defect}")
        return Finding(State.FAIL, f"could not be looked at ({said})", "report this as a defect of the doctor")
