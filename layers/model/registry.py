"""Styles by name: those that can be had (styles.toml) and those that are installed (manifest.json).

Importing this module does not import torch: listing styles and finding the built-in one in place stay quick.

ModelError                    whatever goes wrong on the way from a name to a frozen style
├── RegistryError             styles.toml cannot be read, or an entry of it is incomplete
├── UnknownStyleName          no style has this name; says which do, the near ones first
├── FreezeError               freeze.py
└── PullError                 pull.py
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

STYLES = Path(__file__).with_name("styles.toml")
BUILTIN = "cel"
MANIFEST = "manifest.json"
SCHEMA_VERSION = 1


class ModelError(Exception):
    """Root of this package's errors. The message is for the person at the command line."""


class RegistryError(ModelError):
    """styles.toml is damaged or incomplete."""


class UnknownStyleName(ModelError):
    """A name that no style has."""


@dataclass(frozen=True, slots=True)
class Style:
    """One table of styles.toml: a checkpoint beside the file, or a URL and the git blob id of its file."""

    name: str
    title: str
    description: str
    licence: str
    source: str
    align_corners: bool
    checkpoint: Path | None = None
    url: str | None = None
    blob_id: str | None = None

    def __post_init__(self) -> None:
        if self.checkpoint is None and not (self.url and self.blob_id):
            raise RegistryError(f"style {self.name} needs a checkpoint, or a url and a blob_id")

    @property
    def builtin(self) -> bool:
        """True if the weights ship with the project."""
        return self.checkpoint is not None


@dataclass(frozen=True, slots=True)
class Module:
    """A frozen file; how far it is from the eager float32 generator, per size `HxW`, outputs in [-1, 1]."""

    file: str
    sha256: str
    parity: Mapping[str, float]  # maximum absolute error
    mean_abs_error: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Manifest:
    """manifest.json of an installed style: all that the handler learns about it."""

    style: str
    title: str
    licence: str
    source: str
    checkpoint_sha256: str
    align_corners: bool
    torch: str
    created: str
    modules: Mapping[str, Module]
    size_multiple: int = 32
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def read(cls, directory: Path) -> Manifest | None:
        """The manifest of an intact style; None if absent, of another schema, or not as recorded."""
        try:
            data: dict[str, Any] = json.loads((directory / MANIFEST).read_bytes())
            if data["schema_version"] != SCHEMA_VERSION:
                return None
            modules = {name: Module(**module) for name, module in data.pop("modules").items()}
            intact = all(sha256(directory / module.file) == module.sha256 for module in modules.values())
            return cls(**data, modules=modules) if intact else None
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
        return (*described, self.checkpoint_sha256, self.align_corners, self.torch, self.size_multiple)


def load_registry(path: Path = STYLES) -> dict[str, Style]:
    """Name -> style, in the file's order. Raises RegistryError."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: _style(name, table, path.parent) for name, table in tables.items()}
    except (OSError, ValueError, TypeError) as error:
        raise RegistryError(f"{path} is no readable list of styles ({error}): correct it") from error


def find_style(name: str, registry: Mapping[str, Style] | None = None) -> Style:
    """The style called `name`. Raises UnknownStyleName, RegistryError."""
    styles = load_registry() if registry is None else registry
    if name in styles:
        return styles[name]
    near = difflib.get_close_matches(name.lower(), styles, n=2)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise UnknownStyleName(f"no style is called {name!r}: {hint}Known styles: {', '.join(styles)}.")


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_current(styles_dir: Path, style: Style) -> bool:
    """True if `style` lies intact in `styles_dir`, frozen by this torch from the checkpoint as it is now."""
    installed = Manifest.read(styles_dir / style.name)
    if installed is None or style.checkpoint is None or not style.checkpoint.is_file():
        return False
    wanted = (sha256(style.checkpoint), style.align_corners, version("torch"))
    return (installed.checkpoint_sha256, installed.align_corners, installed.torch) == wanted


def ensure_builtin(styles_dir: Path, style: Style | None = None) -> Path:
    """Directory of the built-in style (or of `style`, a local one), frozen first if missing or out of date.

    Any number of processes may do this at once: each freezes aside and the first to finish wins. Raises
    FreezeError, RegistryError, OSError.
    """
    wanted = style or find_style(BUILTIN)
    if not is_current(styles_dir, wanted):
        # Imported here so that a style in place costs no import of torch.
        from layers.model.freeze import freeze_style

        freeze_style(wanted, wanted.checkpoint, styles_dir)
    return styles_dir / wanted.name


def _style(name: str, table: dict[str, Any], base: Path) -> Style:
    checkpoint = base / table["checkpoint"] if "checkpoint" in table else None
    return Style(**{**table, "name": name, "checkpoint": checkpoint})
