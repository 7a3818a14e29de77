"""A style's own operators: taken where the processor and the library are right, torch alone elsewhere."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from handler import operators
from handler.errors import StyleError
from handler.generator import FrozenGenerator, Manifest, Styles
from tests.conftest import ROOT
from tests.factories import photo

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")


@pytest.fixture
def styles(frozen_styles: Path, tmp_path: Path) -> Path:
    """A copy to change, of a style with operators."""
    if Manifest.read(frozen_styles / "cel/manifest.json").native is None:
        pytest.skip("no operators here: `python -m layers.native.build`")
    shutil.copytree(frozen_styles, tmp_path / "styles")
    return tmp_path / "styles"


def kernels(styles: Styles) -> tuple[str, str]:
    """What is said before the style is loaded, and what it runs on then."""
    said = styles.described()[0]["kernel"]
    loaded = styles["cel"].kernel
    assert styles.described()[0]["kernel"] == loaded
    return said, loaded


def test_float32_runs_on_the_styles_own_operators(styles: Path) -> None:
    assert kernels(Styles(styles, "float32")) == ("native", "native")


def test_both_kernels_give_the_same_picture(styles: Path) -> None:
    x = photo(96, 64).to(memory_format=torch.channels_last)
    native, alone = (Styles(styles, "float32", kernel)["cel"] for kernel in ("auto", "torch"))
    assert (native.kernel, alone.kernel) == ("native", "torch")
    ours, theirs = native(x), alone(x)
    assert ours.shape == theirs.shape
    assert ours.is_contiguous(memory_format=torch.channels_last)
    assert (ours - theirs).abs().max() < 1e-4


def test_bfloat16_runs_on_operators_where_the_processor_multiplies_it(styles: Path) -> None:
    path = styles / "cel/manifest.json"
    native = Manifest.read(path).native
    assert native
    able = "avx512_bf16" in operators.processor_flags(Path("/proc/cpuinfo"))
    assert ("bfloat16" in native.files) == able
    expected = "native" if able else "torch"
    assert kernels(Styles(styles, "bfloat16")) == (expected, expected)


def test_bfloat16_runs_on_torch_where_the_processor_would_emulate_it(
    styles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("flags : avx512f avx512bw avx512cd avx512dq avx512vl\n")
    monkeypatch.setattr(operators, "CPUINFO", cpuinfo)
    assert kernels(Styles(styles, "bfloat16")) == ("torch", "torch")
    assert kernels(Styles(styles, "float32")) == ("native", "native")


def test_a_setting_turns_operators_off(styles: Path) -> None:
    assert kernels(Styles(styles, "float32", "torch")) == ("torch", "torch")


@pytest.mark.parametrize("flags", ["flags\t: sse2 avx2 avx512f\n", "Features\t: asimd\n", None])
def test_a_processor_without_the_instructions_never_loads_the_library(
    flags: str | None, styles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    if flags:
        cpuinfo.write_text(flags)
    monkeypatch.setattr(operators, "CPUINFO", cpuinfo)
    monkeypatch.setattr(torch.ops, "load_library", lambda path: pytest.fail("loaded"))
    assert kernels(Styles(styles, "float32")) == ("torch", "torch")


def test_without_its_library_a_style_runs_on_torch(styles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.ops, "loaded_libraries", set())
    (styles / "cel/libanimegan.so").unlink()
    assert kernels(Styles(styles, "float32")) == ("native", "torch")


def test_a_library_that_is_not_the_one_it_was_frozen_with_is_not_loaded(
    styles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.ops, "loaded_libraries", set())
    monkeypatch.setattr(torch.ops, "load_library", lambda path: pytest.fail("loaded"))
    (styles / "cel/libanimegan.so").write_bytes(b"another")
    assert Styles(styles, "float32")["cel"].kernel == "torch"


def test_a_library_that_does_not_load_leaves_torch(styles: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise OSError("undefined symbol: x")

    monkeypatch.setattr(torch.ops, "loaded_libraries", set())
    monkeypatch.setattr(torch.ops, "load_library", fail)
    assert Styles(styles, "float32")["cel"].kernel == "torch"


def test_a_style_frozen_with_other_operators_than_are_loaded_runs_on_torch(
    styles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "libanimegan.so"
    other.write_bytes(b"of another build")
    monkeypatch.setattr(torch.ops, "loaded_libraries", {str(other)})
    assert Styles(styles, "float32")["cel"].kernel == "torch"


def test_a_library_counts_as_it_was_loaded_whatever_lies_in_its_place_by_now(styles: Path) -> None:
    """As when one style is frozen anew, with newer operators, while a server runs on the older ones."""
    shutil.copytree(styles / "cel", styles / "other")
    script = f"""
from pathlib import Path
from handler.generator import Manifest, Styles
from handler.operators import Native
folder = Path({str(styles)!r})
known = Styles(folder, "float32")
assert known["cel"].kernel == "native"
library = folder / "cel/libanimegan.so"
library.with_suffix(".new").write_bytes(b"newer")
library.with_suffix(".new").replace(library)
assert known["other"].kernel == "native", "the same operators"
newer = Native({{}}, ("libanimegan.so", {hashlib.sha256(b"newer").hexdigest()!r}), {{}})
assert not newer.loaded(folder / "other"), "the file in its place is not what runs"
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_a_changed_module_is_damage_as_for_any_other(styles: Path) -> None:
    with (styles / "cel/native.pt").open("ab") as file:
        file.write(b"x")
    with pytest.raises(StyleError, match=r"native\.pt is not what its manifest says"):
        Styles(styles, "float32")["cel"]


def test_a_manifest_without_operators_is_as_before(styles: Path) -> None:
    path = styles / "cel/manifest.json"
    manifest = Manifest.read(path)
    text = path.read_text()
    path.write_text(text.replace('"native"', '"other"'))
    assert Manifest.read(path).native is None
    assert Manifest.read(path).files == manifest.files
    path.write_text(text.replace('"needs"', '"wants"'))
    with pytest.raises(StyleError, match="no manifest"):
        Manifest.read(path)


def test_a_generator_is_on_torch_unless_it_is_told(styles: Path) -> None:
    manifest = Manifest.read(styles / "cel/manifest.json")
    assert FrozenGenerator(styles / "cel", manifest, "float32").kernel == "torch"
