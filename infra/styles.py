"""Styles on this machine: the list, and that the one in use is there before the function is loaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from infra.errors import NotInstalled
from infra.text import shown
from layers.model.errors import UnknownStyleName
from layers.model.manifest import MANIFEST, Manifest
from layers.model.registry import BUILTIN, ensure_builtin, find_style, is_current, load_registry

if TYPE_CHECKING:
    from handler.generator import Styles
    from handler.settings import Settings


def styles_dir() -> Path:
    """Where frozen styles lie: STYLES_DIR, else the settings' default."""
    if set_by_user := os.environ.get("STYLES_DIR"):
        return Path(set_by_user)
    from handler.settings import default_styles_dir

    return default_styles_dir()


@dataclass(frozen=True, slots=True)
class Listed:
    """A style that is known, installed or both. `origin`: built in, published, or frozen from a file here."""

    name: str
    title: str
    description: str
    licence: str
    source: str
    origin: str
    installed: bool

    @property
    def state(self) -> str:
        if self.installed:
            return f"{self.origin}, installed"
        later = "made at first use" if self.origin == "built in" else f"animegan pull {self.name}"
        return f"{self.origin}: {later}"


def listed(folder: Path) -> list[Listed]:
    """The registry's styles in its order, then others that lie in `folder`. Raises RegistryError."""
    registry = load_registry()
    installed = {path.parent.name: Manifest.read(path.parent) for path in sorted(folder.glob(f"*/{MANIFEST}"))}
    known = [
        Listed(
            name,
            style.title,
            style.description,
            style.licence.strip(),
            style.source,
            "built in" if style.builtin else "published",
            installed.get(name) is not None,
        )
        for name, style in registry.items()
    ]
    own = [
        Listed(name, manifest.title, "", manifest.licence, manifest.source, "frozen here", True)
        for name, manifest in installed.items()
        if manifest is not None and name not in registry
    ]
    return known + own


def prepare(name: str, folder: Path, say: Callable[[str], None]) -> None:
    """See that style `name` lies in `folder`; the built-in one is frozen at its first use.

    A built-in style that someone put into a STYLES_DIR of their own is left as it is. Raises NotInstalled,
    UnknownStyleName, FreezeError, OSError.
    """
    there = (folder / name / MANIFEST).is_file()
    if name != BUILTIN:
        if not there:
            raise _missing(name, folder)
        return
    if there and "STYLES_DIR" in os.environ:
        return
    if not is_current(folder, find_style(BUILTIN)):
        say(f"animegan: freezing the built-in style into {shown(folder)}, once (some seconds)")
        ensure_builtin(folder)


def _missing(name: str, folder: Path) -> NotInstalled | UnknownStyleName:
    """What to do about a style that is not installed, for whoever named it by STYLE or by --style."""
    here = sorted({BUILTIN, *(path.parent.name for path in folder.glob(f"*/{MANIFEST}"))})
    advice = f"set STYLE (or --style) to one that is installed: {', '.join(map(shown, here))}"
    try:
        find_style(name)
    except UnknownStyleName as error:
        return UnknownStyleName(f"{error} Here, {advice}; `animegan pull` fetches another")
    return NotInstalled(f"the style {name} is not in {shown(folder)}: run `animegan pull {name}`, or {advice}")


def load(settings: Settings, say: Callable[[str], None]) -> Styles:
    """The style of the settings loaded, among the others, and threads set, as the function does it.

    Raises as `prepare` does, and StyleError.
    """
    prepare(settings.style, settings.styles_dir, say)
    from handler import cpu
    from handler.generator import Styles

    cpu.set_threads(settings.num_threads, cpu.vcpus())
    found = Styles.of(settings)
    found.default(settings.style)
    return found


def check_detector(path: Path) -> None:
    """Raises NotInstalled where the face detector is not, NotConfigured where it is another file or damaged."""
    if not path.is_file():
        raise NotInstalled(f"--face needs a face detector, and {shown(path)} is none: run `animegan pull yunet`")
    from handler.face_detector import Detector

    Detector(path).check()
