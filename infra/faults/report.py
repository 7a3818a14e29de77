"""How often the diagnosis is right, as a confusion matrix, and with which runs it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from string import ascii_lowercase

from infra.bench.table import markdown, pairs
from infra.bench.verdicts import Verdict
from infra.faults.disturbance import MOST
from infra.faults.judge import UNSURE, Judged, Matrix
from infra.faults.plan import CAUSES

RIGHT = 0.95
HEADINGS = {
    "held": "Runs that the rules were not tuned on",
    "tune": "Runs that were there when the rules were made",
}


@dataclass(frozen=True)
class Report:
    """`failed` are runs that could not be made, with why."""

    machine: dict[str, str]
    runs: list[Judged]
    failed: list[str]

    def as_text(self) -> str:
        parts = [self._set(name, heading) for name, heading in HEADINGS.items() if self._of(name)]
        failed = ["Not made:\n" + "\n".join(f"- {why}" for why in self.failed)] if self.failed else []
        return "\n\n".join([pairs(self.machine), *parts, *failed])

    def verdicts(self) -> list[Verdict]:
        """By runs that were kept apart, or by the others where there are no such."""
        counted = self._of("held") or self._of("tune")
        injected = [run for run in counted if run.injected]
        clean = [run for run in counted if not run.injected]
        right, alarms = sum(run.right for run in injected), sum(run.false_alarm for run in clean)
        found = [Verdict("every run was made", not self.failed, f"{len(self.failed)} were not")]
        if injected:
            share = right / len(injected)
            said = f"{right} of {len(injected)}: {share:.1%}"
            found.append(Verdict(f"at least {RIGHT:.0%} of faults are named", share >= RIGHT, said))
        if clean:
            said = f"{alarms} of {len(clean)}"
            found.append(Verdict("no false alarm on runs without a fault", not alarms, said))
        return found

    def _of(self, name: str) -> list[Judged]:
        return [run for run in self.runs if run.set == name]

    def _set(self, name: str, heading: str) -> str:
        runs = self._of(name)
        clean = sum(not run.injected for run in runs)
        counts = f"{len(runs) - clean} with a fault, {clean} without. {_quiet(runs)}"
        wrong = [run for run in runs if not run.right]
        parts = [f"## {heading}", counts, matrix(Matrix.of(runs, [*CAUSES, UNSURE])), *_delay(runs)]
        return "\n\n".join([*parts, *([_wrong(wrong)] if wrong else [])])


def matrix(found: Matrix) -> str:
    """A row per fault; columns have the letters of the rows."""
    letters = ascii_lowercase[: len(found.causes)]
    rows = []
    for letter, cause in zip(letters, found.causes, strict=True):
        if not sum(found.row(cause)):
            rows.append([f"{letter} {cause}", *[""] * len(letters), ""])
            continue
        row = found.row(cause)
        right = row[letters.index(letter)]
        rows.append([f"{letter} {cause}", *(str(count or "·") for count in row), f"{right} of {sum(row)}"])
    wide = [f"{letter} " for letter in letters]  # Markdown needs two characters to tell a column's side
    return markdown(["made \\ said", *wide, "right"], rows)


def _quiet(runs: Sequence[Judged]) -> str:
    disturbed = sum(run.others > MOST for run in runs)
    worst = max(run.others for run in runs)
    said = f"Other processes took at most {worst:.2f} CPUs in any 3 s"
    return f"{said}, over {MOST} in {disturbed} runs." if disturbed else f"{said}."


def _delay(runs: Sequence[Judged]) -> list[str]:
    late = [abs(run.late_s) for run in runs if run.right and run.late_s is not None]
    if not late:
        return []
    return [f"Where the fault is named, its beginning is off by {median(late):.1f} s in the median."]


def _wrong(runs: Sequence[Judged]) -> str:
    rows = [
        [run.name, ", ".join(map(str, run.strength)), " → ".join(f"{ms:,.0f}" for ms in run.medians_ms), run.said]
        for run in runs
    ]
    return markdown(["wrong", "strength", "median ms, as clients saw it", "said"], rows)
