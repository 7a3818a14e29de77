"""Check of the style's own operators: whether conversions run on them, and if not, why and what to do."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from infra.doctor.checks import Finding, Patient, State
from infra.text import shown
from layers.model.manifest import sha256
from layers.model.operators import LIBRARY, NEEDS
from layers.model.registry import BUILTIN, load_registry
from layers.native import build

FASTER = "conversions are two to four times as fast then"


def seen(generator: Any, folder: Path) -> dict[str, Any]:
    """By the trial, of its loaded style in `folder`: what it runs on, and what the handler decided that by."""
    from handler.cpu import CPUINFO
    from handler.operators import processor_flags

    native, precision = generator.manifest.native, generator.precision
    frozen = native is not None and precision in native.needs
    needs = native.needs[precision] if frozen else NEEDS[precision]
    lacking = sorted({*needs} - processor_flags(CPUINFO))
    return {
        "kernel": generator.kernel,
        "precision": precision,
        "frozen": frozen,
        "needs": sorted(needs),
        "lacking": lacking,
        "error": _refused(folder / native.library[0]) if frozen and not lacking else None,
        "library": [str(folder / native.library[0]), native.library[1]] if native else None,
    }


def _refused(library: Path) -> str | None:
    """What the system says where it does not load the library; to the handler that is as if it were not there."""
    import torch

    try:
        torch.ops.load_library(library)  # type: ignore[no-untyped-call]
    except OSError as error:
        return str(error)
    return None


def operators(patient: Patient) -> Finding:
    """Native where this processor can; a processor that cannot is no fault of the environment."""
    said, chosen = patient.fact("operators"), patient.configured()
    if said["kernel"] == "native":
        path, digest = said["library"]
        flags = ", ".join(said["needs"])
        return Finding(State.OK, f"native, {shown(Path(path).name)} {digest[:12]}; this CPU has {flags}")
    if said["lacking"]:
        return _unable(said, chosen.precision)
    # KERNEL=torch first, and what else is in its way too: one of them alone changes nothing.
    asked = [("KERNEL=torch asks for it", "unset KERNEL")] if chosen.kernel == "torch" else []
    obstacles = asked + [each for each in [_obstacle(said, chosen.style, chosen.styles_dir)] if each]
    if not obstacles:
        return Finding(
            State.WARN, "torch, though nothing seems to hinder the operators", "report this as a defect"
        )
    whys, changes = zip(*obstacles, strict=True)
    return Finding(State.WARN, f"torch: {'; '.join(whys)}", f"{', and '.join(changes)}: {FASTER}")


def _unable(said: dict[str, Any], asked: str) -> Finding:
    lacking = ", ".join(said["lacking"])
    measured = f"torch: the operators for {said['precision']} need {lacking}, which this CPU has not"
    if asked == "bfloat16" and not {*NEEDS["float32"]} & {*said["lacking"]}:
        return Finding(State.WARN, measured, "unset PRECISION: float32 has operators here")
    return Finding(State.OK, measured)


def _obstacle(said: dict[str, Any], style: str, styles_dir: Path) -> tuple[str, str] | None:
    """(what is in the way, how to remove it)."""
    again = refreeze(style, styles_dir)
    if not said["frozen"]:
        why = f"the style was frozen without operators for {said['precision']}"
        return why, f"{_built()}{again}"
    path, digest = Path(said["library"][0]), said["library"][1]
    try:
        if sha256(path) != digest:
            return f"{shown(path)} is not what the manifest has (SHA-256 differs)", f"{_built()}{again}"
    except OSError:
        return f"{shown(path)} is missing or cannot be read", f"{_built()}{again}"
    if error := said.get("error"):
        why = f"{shown(path)} cannot be loaded ({shown(error)})"
        return why, "put that right, or set STYLES_DIR to a folder that programs may be loaded from"
    return None


def _built() -> str:
    """What has to be done before a style can be frozen with operators; nothing where the library is current."""
    if build.current(LIBRARY):
        return ""
    try:
        build.compiler(None)
        build.torch_folder(None)
    except build.NotBuilt as why:
        lack = "install g++ (Debian: g++)" if "compiler" in str(why) else "install torch with its headers"
        return f"{lack}, run {_command()}, then "
    return f"run {_command()}, then "


def _command() -> str:
    python = Path(sys.executable)
    name = python.name if shutil.which(python.name) == str(python) else str(python)
    return f"`{shown(name)} -m layers.native.build`"


def refreeze(style: str, styles_dir: Path) -> str:
    """How this style is frozen anew: the built-in one by itself, once the old one is gone."""
    folder = styles_dir / style
    if style == BUILTIN and folder.exists():
        return f"remove {shown(folder)} (the next `animegan` command freezes it again)"
    if style == BUILTIN:
        return f"set STYLES_DIR, now {shown(styles_dir)}, to a folder that can be written to, or made"
    if style in load_registry():
        return f"freeze it again (`animegan pull {shown(style)}`)"
    return f"freeze it again (`animegan freeze CHECKPOINT --style {shown(style)}`)"
