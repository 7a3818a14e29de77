"""The face detector: fetched when somebody asks for it, verified, its licence shown, as with published styles."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from layers.model.errors import RegistryError
from layers.model.fetch import Progress, silent
from layers.model.manifest import sha256
from layers.model.verified import verified

DETECTORS = Path(__file__).with_name("detector.toml")


@dataclass(frozen=True, slots=True)
class Detector:
    """One table of detector.toml."""

    name: str
    title: str
    description: str
    file: str
    url: str
    sha256: str
    licence: str
    source: str

    def installed(self, folder: Path) -> bool:
        return (path := folder / self.file).is_file() and sha256(path) == self.sha256


def load_detectors(path: Path = DETECTORS) -> Mapping[str, Detector]:
    """Name -> detector. Raises RegistryError."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        return {name: Detector(**{**table, "name": name}) for name, table in tables.items()}
    except (OSError, ValueError, TypeError) as error:
        raise RegistryError(f"{path} is no readable list of detectors ({error}): correct it") from error


def pull_detector(
    wanted: Detector,
    folder: Path,
    *,
    announce: Callable[[str], None],
    progress: Progress = silent,
    url: str | None = None,
) -> Path:
    """`folder/FILE`, verified; `announce` is given the licence. `url` is a mirror. Raises PullError, OSError."""
    target, source = folder / wanted.file, url or wanted.url
    path = verified(wanted.name, target, "SHA-256", sha256, wanted.sha256, source, progress)
    announce(f"{wanted.title} ({wanted.name}), {wanted.source}\n{wanted.licence.strip()}")
    return path
