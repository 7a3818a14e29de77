"""Styles by name: those that can be had (styles.toml) and whether they lie frozen in a directory.

Importing this module does not import torch: listing styles and finding the built-in one in place stay quick.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from layers.model.errors import RegistryError, UnknownStyleName
from layers.model.manifest import FACE_SIZE, Manifest, sha256
from layers.model.operators import library

STYLES = Path(__file__).with_name("styles.toml")
BUILTIN = "cel"


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
    face_size: int = FACE_SIZE

    def __post_init__(self) -> None:
        if self.checkpoint is None and not (self.url and self.blob_id):
            raise RegistryError(f"style {self.name} needs a checkpoint, or a url and a blob_id")

    @property
    def builtin(self) -> bool:
        """True if the weights ship with the project."""
        return self.checkpoint is not None

    @property
    def origin(self) -> str:
        """Where the weights come from, as a manifest records it."""
        return self.url or self.source


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


def is_current(styles_dir: Path, style: Style) -> bool:
    """True if `style` lies intact in `styles_dir`, from this checkpoint, by this torch, described as it is now."""
    installed = Manifest.read(styles_dir / style.name)
    if installed is None or style.checkpoint is None or not style.checkpoint.is_file():
        return False
    operators = library()
    if operators and sha256(operators) != installed.operators:
        return False
    described = (installed.title, installed.licence, installed.source)
    made = (installed.checkpoint_sha256, installed.align_corners, installed.face_size, installed.torch)
    return described == (style.title, style.licence.strip(), style.origin) and made == (
        sha256(style.checkpoint),
        style.align_corners,
        style.face_size,
        version("torch"),
    )


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
