"""Check that the function starts and converts, and which variable or bound is known to be the cause if not."""

from __future__ import annotations

import os

from infra.doctor.checks import Finding, Patient, State
from infra.text import shown

MEMORY_SIZE = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE"
MANY_THREADS = 256  # over it, a system may refuse them, which torch does not survive
BOUNDS = {
    "Too many open files": "raise the bound on open files: ulimit -n 1024",
    "failed to map segment": "raise the bound on address space: ulimit -v unlimited",
    "Cannot allocate memory": "raise the bound on address space, ulimit -v unlimited, or give it more memory",
}


def start(patient: Patient) -> Finding:
    trial = patient.trial
    if why := trial.facts.get("refused"):
        change = _cause(patient, why) or "the function does not start before this is put right"
        return Finding(State.FAIL, shown(why), change)
    if "started" not in trial.facts:
        change = _cause(patient, trial.stderr) or "put this right first"
        return Finding(State.FAIL, f"{trial.ended()}: {trial.stderr or 'without a word'}", change)
    if trial.code:
        return Finding(State.FAIL, f"began, then {trial.ended()}: {trial.stderr}", "see memory and limits")
    done = [*trial.facts["small"], *trial.facts["large"]]
    if bad := [one["status"] for one in done if one["status"] != 200]:
        return Finding(State.FAIL, f"conversions answered {bad}", "animegan convert --verbose PHOTO shows why")
    return Finding(State.OK, f"starts and converts: {len(done)} photos")


def _cause(patient: Patient, said: str) -> str | None:
    """What to change, by what was said and by what stands in the environment."""
    size = patient.environment.get(MEMORY_SIZE, "")
    if size and not (size.isdecimal() and int(size)):
        return f"unset {MEMORY_SIZE}, which is {shown(size)}, or use --memory"
    if not _folder_exists():
        return "the folder that it was called in is gone: go to another"
    threads = patient.settings.num_threads if patient.settings else "auto"
    if isinstance(threads, int) and threads > MANY_THREADS:
        return f"NUM_THREADS=auto: {threads} threads are more than the system may give"
    return next((change for words, change in BOUNDS.items() if words in said), None)


def _folder_exists() -> bool:
    try:
        return bool(os.getcwd())
    except OSError:
        return False
