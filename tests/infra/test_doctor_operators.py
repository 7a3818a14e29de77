"""The doctor on native operators: each thing that may keep a style from them, and the cure that goes with it."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from handler.settings import Settings
from infra.doctor import operators
from infra.doctor.checks import Finding, Patient, State
from infra.doctor.trial_run import Trial
from layers.native import build

LIBRARY = b"a library"


@pytest.fixture
def styles(tmp_path: Path) -> Path:
    """A folder with a library in the built-in style's place."""
    (tmp_path / "cel").mkdir()
    (tmp_path / "cel" / "libanimegan.so").write_bytes(LIBRARY)
    return tmp_path


def found(styles: Path, settings: dict[str, Any] | None = None, **said: Any) -> Finding:
    """On a processor that can, with a style that does not run on them."""
    library = [str(styles / "cel" / "libanimegan.so"), hashlib.sha256(LIBRARY).hexdigest()]
    fact = {"kernel": "torch", "precision": "float32", "frozen": True, "needs": ["avx512f"], "lacking": []}
    chosen = Settings(styles_dir=styles, **(settings or {}))
    return operators.operators(Patient({}, chosen, Trial({"operators": {**fact, "library": library, **said}}, 0)))


def test_a_style_on_native_operators_is_well_and_says_which(styles: Path) -> None:
    well = found(styles, kernel="native")
    assert (well.state, well.change) == (State.OK, "")
    assert "libanimegan.so" in well.measured
    assert "avx512f" in well.measured


def test_a_processor_without_the_instructions_is_no_fault(styles: Path) -> None:
    unable = found(styles, {"kernel": "torch"}, lacking=["avx512f"])
    assert (unable.state, unable.change) == (State.OK, "")
    assert "need avx512f" in unable.measured


def test_bfloat16_asked_of_a_processor_that_has_operators_for_float32_alone_is_told(styles: Path) -> None:
    assert found(styles, {"precision": "bfloat16"}, precision="bfloat16", lacking=["avx512_bf16"])[::2] == (
        State.WARN,
        "unset PRECISION: float32 has operators here",
    )


@pytest.mark.parametrize(
    ("settings", "said", "why", "change"),
    [
        ({"kernel": "torch"}, {}, "KERNEL=torch", "unset KERNEL: "),
        ({"kernel": "torch"}, {"frozen": False}, "frozen without", "unset KERNEL, and "),
        ({}, {"frozen": False, "library": None}, "frozen without operators for float32", "cel (the next"),
        ({"style": "paprika"}, {"frozen": False}, "frozen without", "`animegan pull paprika`"),
        ({"style": "mine"}, {"frozen": False}, "frozen without", "`animegan freeze CHECKPOINT --style mine`"),
        ({}, {"library": ["/gone.so", "ab"]}, "/gone.so is missing", "remove "),
        ({}, {"error": "not permitted"}, "cannot be loaded (not permitted)", "STYLES_DIR"),
    ],
)
def test_what_keeps_a_style_from_its_operators_is_told_with_the_cure(
    styles: Path, settings: dict[str, Any], said: dict[str, Any], why: str, change: str
) -> None:
    ill = found(styles, settings, **said)
    assert ill.state is State.WARN
    assert why in ill.measured
    assert change in ill.change


def test_a_library_that_is_another_than_the_manifest_s_is_told(styles: Path) -> None:
    (styles / "cel" / "libanimegan.so").write_bytes(b"another")
    assert "SHA-256 differs" in found(styles).measured


def test_a_library_that_was_never_built_is_built_first_and_by_a_compiler(
    styles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operators, "LIBRARY", tmp_path / "none.so")
    monkeypatch.setattr(build, "COMPILERS", ("sh",))
    assert "run `" in found(styles, frozen=False).change
    assert "install g++" not in found(styles, frozen=False).change
    monkeypatch.setattr(build, "COMPILERS", ())
    monkeypatch.delenv("CXX", raising=False)
    assert "install g++" in found(styles, frozen=False).change


def test_a_real_style_that_lost_its_library_is_found(animegan: Any, frozen_styles: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(frozen_styles, tmp_path / "styles")
    library = copied / "cel" / "libanimegan.so"
    if not library.is_file():
        pytest.skip("frozen without operators: not built, or another processor")
    library.unlink()
    done = animegan("doctor", "--side", 64, env={"STYLES_DIR": str(copied)})
    assert f"{library} is missing" in done.stdout
    assert "warn     operators" in done.stdout
