"""What an installation has that is not a checkout's."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_package_is_installed() -> None:
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = [path.parent for top in ("handler", "layers", "infra") for path in (ROOT / top).rglob("__init__.py")]
    assert sorted(said) == sorted(".".join(path.relative_to(ROOT).parts) for path in found)
