"""Checks of the function once it has started: settings, style, modules, precision, warm-up, log line."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from handler.errors import SettingsError
from handler.settings import Settings
from infra.doctor import emf
from infra.doctor.checks import Finding, Patient, State
from infra.doctor.operators import refreeze
from infra.text import shown
from layers.model.manifest import MANIFEST, SCHEMA_VERSION, sha256

INIT_LIMIT_MS, INIT_NEAR_MS = 10_000, 8_000  # Lambda breaks init off at the first
SLOW_FIRST, SLOW_FIRST_MS = 2.0, 100.0  # times the later ones, and by how much, before it is worth a word


def settings(patient: Patient) -> Finding:
    try:
        found = Settings.from_environment()
    except SettingsError as wrong:
        return Finding(State.FAIL, shown(wrong), "set these variables right, or unset them for their defaults")
    return Finding(State.OK, f"{len(type(found).model_fields)} variables read, STYLE={found.style}")


def style(patient: Patient) -> Finding:
    """The manifest, and that each file is still what was frozen."""
    chosen = patient.configured()
    folder = chosen.styles_dir / chosen.style
    again = refreeze(chosen.style, chosen.styles_dir)
    try:
        said = json.loads((folder / MANIFEST).read_bytes())
        if said["schema_version"] != SCHEMA_VERSION:
            return Finding(State.FAIL, f"{shown(folder)} has a manifest of another version", again)
        native = (said.get("native") or {"modules": {}})["modules"]
        modules = [*said["modules"].values(), *native.values()]
        files = {module["file"]: module["sha256"] for module in modules}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return Finding(State.FAIL, f"{shown(folder)} has no manifest to read ({type(error).__name__})", again)
    changed = [shown(folder / name) for name, digest in files.items() if _digest(folder / name) != digest]
    if changed:
        return Finding(State.FAIL, f"missing, or SHA-256 differs from the manifest's: {', '.join(changed)}", again)
    if (made := said.get("torch")) != (here := version("torch")):
        return Finding(State.WARN, f"frozen by torch {made}, and torch {here} runs it", again)
    return Finding(State.OK, f"{chosen.style}: {', '.join(files)} as the manifest has them, torch {here}")


def _digest(path: Path) -> str:
    try:
        return sha256(path)
    except OSError:
        return "missing"


def frozen(patient: Patient) -> Finding:
    said = patient.fact("frozen")
    if said["parameters"] or said["training"]:
        left = f"{said['parameters']} parameters" if said["parameters"] else "a training mode"
        return Finding(State.FAIL, f"the module has {left}: it is not frozen", "freeze it with animegan freeze")
    return Finding(State.OK, "no parameters, no training mode: weights are constants of the graph")


def inference_mode(patient: Patient) -> Finding:
    said = patient.fact("inference")
    if said["gradient"] or not said["inference"]:
        return Finding(State.FAIL, "the generator's output records gradients", "call it in torch.inference_mode()")
    if not said["finite"]:
        return Finding(State.FAIL, "the generator's output has NaN or infinity", "PRECISION=float32")
    return Finding(State.OK, "the generator's output is an inference tensor, without gradient")


def precision(patient: Patient) -> Finding:
    used, hardware = patient.fact("frozen")["precision"], patient.fact("threads")["bfloat16"]
    asked = patient.configured().precision
    if used == "bfloat16" and not hardware:
        return Finding(State.WARN, "bfloat16, which this CPU emulates", "PRECISION=auto takes float32 here")
    if used == "float32" and hardware:
        why = "PRECISION=float32 asks for it" if asked == "float32" else "the style has no bfloat16 file"
        return Finding(State.WARN, f"float32, though this CPU multiplies bfloat16: {why}", _faster(asked))
    return Finding(State.OK, f"{used}; bfloat16 {'in' if hardware else 'not in'} this CPU's hardware")


def _faster(asked: str) -> str:
    return "PRECISION=auto is two to three times as fast" if asked == "float32" else "freeze the style again"


def warm_up(patient: Patient) -> Finding:
    init = _init(patient)
    first, *later = (done["ms"] for done in patient.fact("small"))
    usual = median(later)
    spent = f"init {init:,.0f} ms, first conversion {first:,.0f} ms, later {usual:,.0f} ms"
    if init > INIT_NEAR_MS:
        state = State.FAIL if init > INIT_LIMIT_MS else State.WARN
        return Finding(state, spent, "Lambda ends an init of 10 s: give it more memory (CPU)")
    if first > SLOW_FIRST * usual and first - usual > SLOW_FIRST_MS:
        return Finding(State.WARN, spent, "something is made at the first one; try again if others were busy")
    return Finding(State.OK, spent)


def _init(patient: Patient) -> float:
    for text in patient.fact("started")["log"]:
        if text.startswith("{") and (said := json.loads(text)).get("event") == "init":
            (took,) = said["InitDuration"]
            return float(took)
    raise LookupError("no init line")


def log_line(patient: Patient) -> Finding:
    """Every line, as a line that is none of ours in between is paid for too."""
    lines = patient.lines()
    wrong = [f"{_event(text)} {fault}" for text in lines for fault in emf.faults(text)]
    if wrong:
        unnamed = any("dimension FunctionName" in fault for fault in wrong)
        change = "unset AWS_LAMBDA_FUNCTION_NAME" if unnamed else "report this"
        why = f"{change}: CloudWatch drops such metrics without a word"
        return Finding(State.FAIL, shown("; ".join(wrong[:3])), why)
    count = [_event(text) for text in lines].count("conversion")
    done = len(patient.fact("small")) + len(patient.fact("large"))
    if count != done:
        return Finding(State.FAIL, f"{count} lines for {done} conversions", "report this as a defect")
    return Finding(State.OK, f"{len(lines)} lines, each valid in embedded metric format, one per conversion")


def _event(text: str) -> str:
    try:
        said: Any = json.loads(text)
        return str(said["event"])
    except (ValueError, KeyError, TypeError):
        return "a line"
