"""Fixtures of more than one directory of tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from layers.model.freeze import freeze
from tests.factories import checkpoint

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """shared("vectors/x.npz"): a file of the data beside the checkout, or of ANIMEGAN_SHARED; else a skip."""
    base = Path(os.environ.get("ANIMEGAN_SHARED") or ROOT.parent / "shared")

    def find(name: str) -> Path:
        if not (base / name).exists():
            pytest.skip(f"{base / name} is not here; ANIMEGAN_SHARED may name the folder that has {name}")
        return base / name

    return find


@pytest.fixture(scope="session")
def frozen_styles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A styles directory with `cel`, frozen from seeded random weights. Shared: read it, don't change it."""
    directory = tmp_path_factory.mktemp("styles")
    weights = checkpoint(tmp_path_factory.mktemp("weights") / "cel.pt")
    freeze(weights, "cel", directory, title="Cel", licence="MIT, made by a test", source="tests/factories.py")
    return directory
