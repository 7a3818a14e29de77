"""Two styles: the built-in one as it is, and the same in float32 alone, which is slower where bfloat16 is fast."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from infra import progress, styles
from infra.bench import machine
from infra.errors import BadRequest
from infra.faults.recipes import PLAIN
from layers.model.manifest import Manifest
from layers.model.registry import BUILTIN

FASTER = ("amx_bf16", "avx512_bf16")  # as handler/cpu.py has it


def lay_out(folder: Path) -> Path:
    """A folder of styles with both. Raises NotInstalled, FreezeError, OSError."""
    installed = styles.styles_dir()
    styles.prepare(BUILTIN, installed, progress.plain)
    source = installed / BUILTIN
    manifest = Manifest.read(source)
    if manifest is None:
        raise BadRequest(f"the style {BUILTIN} in {installed} is damaged; remove its folder to have it made again")
    (folder / BUILTIN).symlink_to(source.resolve())
    plain = folder / PLAIN
    plain.mkdir()
    [name] = only = [name for name in manifest.modules if name == "float32"]
    (plain / manifest.modules[name].file).symlink_to((source / manifest.modules[name].file).resolve())
    float32 = replace(manifest, style=PLAIN, modules={name: manifest.modules[name] for name in only}, native=None)
    float32.write(plain)
    return folder


def check_float32_is_slower() -> None:
    """Raises BadRequest where it is not: then a run with it would have no fault."""
    features = machine.described()["features"].split()
    if not any(feature in features for feature in FASTER):
        raise BadRequest("this CPU does not multiply bfloat16 in hardware, so float32 is no slower here")
