"""manifest.json: all that the handler, and the next freeze, learn about an installed style. Imports no torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
SCHEMA_VERSION = 1
FACE_SIZE = 512  # what the portrait styles were made for, and what a manifest means that does not say


@dataclass(frozen=True, slots=True)
class Module:
    """A frozen file; how far it is from the eager float32 generator, per size `HxW`, outputs in [-1, 1]."""

    file: str
    sha256: str
    parity: Mapping[str, float]  # maximum absolute error
    mean_abs_error: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Native:
    """The precisions once more, through the operators of `library`, where the processor has what they need."""

    modules: Mapping[str, Module]
    needs: Mapping[str, tuple[str, ...]]  # flags of /proc/cpuinfo, by precision
    library: str
    library_sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `freeze` made, from what, and how close it is."""

    style: str
    title: str
    licence: str
    source: str
    checkpoint_sha256: str
    align_corners: bool
    torch: str
    created: str
    modules: Mapping[str, Module]
    native: Native | None = None  # absent where it could not be run, and so not be measured either
    operators: str | None = None  # SHA-256 of the library that was there to make it with
    size_multiple: int = 32
    face_size: int = FACE_SIZE  # side in pixels of the square that a face is best painted in
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def read(cls, directory: Path) -> Manifest | None:
        """The manifest of an intact style; None if absent, of another schema, or not as recorded."""
        try:
            data: dict[str, Any] = json.loads((directory / MANIFEST).read_bytes())
            if data["schema_version"] != SCHEMA_VERSION:
                return None
            modules = {name: Module(**module) for name, module in data.pop("modules").items()}
            native = _native(data.pop("native", None))
            files = [(module.file, module.sha256) for module in modules.values()]
            if native:
                files += [(module.file, module.sha256) for module in native.modules.values()]
                files.append((native.library, native.library_sha256))
            intact = all(sha256(directory / file) == digest for file, digest in files)
            return cls(**data, modules=modules, native=native) if intact else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def write(self, directory: Path) -> None:
        """Write manifest.json into `directory`."""
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False)
        (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")

    def same_work(self, other: Manifest | None) -> bool:
        """True if freezing again would only change the date (digests vary with the process that froze)."""
        return other is not None and self._recipe() == other._recipe()

    def _recipe(self) -> tuple[object, ...]:
        described = (self.style, self.title, self.licence, self.source)
        sizes = (self.size_multiple, self.face_size)
        return (*described, self.checkpoint_sha256, self.align_corners, self.torch, *sizes, self.operators)


def _native(said: dict[str, Any] | None) -> Native | None:
    if said is None:
        return None
    modules = {name: Module(**module) for name, module in said["modules"].items()}
    needs = {name: tuple(flags) for name, flags in said["needs"].items()}
    return Native(modules, needs, said["library"], said["library_sha256"])


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
