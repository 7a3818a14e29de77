"""When a style gets operators: built, for this processor, and loadable; and how they are built."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from layers.model import operators, registry
from layers.model.freeze import freeze
from layers.model.manifest import Manifest, sha256
from layers.model.registry import Style, is_current
from layers.native import build
from layers.native.build import NotBuilt
from tests.conftest import ROOT
from tests.factories import checkpoint

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")

FLAGS = "flags\t\t: fpu sse2 avx2 avx512f avx512bw avx512cd avx512dq avx512vl\n"


@pytest.fixture
def style(tmp_path: Path) -> Style:
    return Style("x", "X", "a test", "MIT", "me", True, checkpoint=checkpoint(tmp_path / "x.pt"))


def frozen(style: Style, out: Path) -> Manifest:
    assert style.checkpoint
    return freeze(style.checkpoint, style.name, out, licence="MIT", source=style.origin, title="X")


@pytest.mark.parametrize(
    ("cpuinfo", "able"),
    [
        ("processor\t: 0\n" + FLAGS, True),
        (FLAGS.replace("avx512vl", ""), False),
        (FLAGS.replace("avx512f ", "avx512fp16 "), False),
        ("Features\t: fp asimd\n", False),  # arm64
        ("", False),
    ],
)
def test_the_processor_must_have_every_flag(cpuinfo: str, able: bool, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo)
    assert operators.able("float32", tmp_path / "cpuinfo") is able


def test_there_are_no_operators_where_the_system_does_not_say_what_it_runs_on(tmp_path: Path) -> None:
    assert not operators.able("float32", tmp_path / "none")


def test_a_style_records_what_its_operators_were_measured_to_do(style: Style, tmp_path: Path) -> None:
    manifest = frozen(style, tmp_path / "styles")
    built = operators.library()
    if built is None:
        pytest.skip("no operators here: `python -m layers.native.build`")
    assert manifest.native
    assert Manifest.read(tmp_path / "styles/x") == manifest
    assert manifest.operators == manifest.native.library_sha256 == sha256(tmp_path / "styles/x/libanimegan.so")
    assert max(manifest.native.modules["float32"].parity.values()) < 1e-4
    for name, module in manifest.native.modules.items():
        assert module.parity.keys() == manifest.modules[name].parity.keys()


def test_a_style_is_whole_without_operators(style: Style, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operators, "LIBRARY", tmp_path / "none.so")
    manifest = frozen(style, tmp_path / "styles")
    assert (manifest.native, manifest.operators) == (None, None)
    assert sorted(path.name for path in (tmp_path / "styles/x").iterdir()) == [
        "bfloat16.pt",
        "float32.pt",
        "manifest.json",
    ]
    assert is_current(tmp_path / "styles", style)


def test_a_library_that_is_none_leaves_a_style_without_and_is_not_tried_again(
    style: Style, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"\x7fELF and no more")
    monkeypatch.setattr(operators, "LIBRARY", broken)
    monkeypatch.setattr(operators, "able", lambda precision, cpuinfo: True)
    manifest = frozen(style, tmp_path / "styles")
    assert (manifest.native, manifest.operators) == (None, sha256(broken))
    assert is_current(tmp_path / "styles", style)


def test_newly_built_operators_make_a_style_out_of_date(
    style: Style, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operators, "LIBRARY", tmp_path / "new.so")
    frozen(style, tmp_path / "styles")
    monkeypatch.setattr(operators, "able", lambda precision, cpuinfo: True)
    assert is_current(tmp_path / "styles", style)
    (tmp_path / "new.so").write_bytes(b"built")
    assert not is_current(tmp_path / "styles", style)
    assert registry.library() == tmp_path / "new.so"


def test_a_style_whose_library_was_changed_is_frozen_again(style: Style, tmp_path: Path) -> None:
    if frozen(style, tmp_path / "styles").native is None:
        pytest.skip("no operators here: `python -m layers.native.build`")
    with (tmp_path / "styles/x/libanimegan.so").open("ab") as file:
        file.write(b"x")
    assert Manifest.read(tmp_path / "styles/x") is None


def built(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "layers/native/build.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_compiler_that_fails_is_one_line_and_no_error(tmp_path: Path) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(
        "#!/bin/sh\necho note: x >&2\necho 'fatal error: no such flag' >&2\necho more >&2\nexit 1\n"
    )
    compiler.chmod(0o755)
    done = built("--out", str(tmp_path / "a.so"), "--compiler", str(compiler))
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "float32 takes twice as long" in done.stderr
    assert "fatal error: no such flag" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["c++"]


def test_the_image_insists_on_its_operators(tmp_path: Path) -> None:
    done = built("--out", str(tmp_path / "a.so"), "--compiler", str(tmp_path / "none"), "--required")
    assert done.returncode == 1
    assert "none" in done.stderr


def test_no_compiler_at_all_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(NotBuilt, match=r"no C\+\+ compiler"):
        build.compiler(None)


def test_another_kind_of_processor_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(NotBuilt, match="aarch64"):
        build.build(tmp_path / "a.so", ["c++"], tmp_path)


def test_what_is_newer_than_its_sources_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(b"built")
    assert build.current(tmp_path / "a.so")
    assert not build.current(tmp_path / "b.so")
    assert built("--out", str(tmp_path / "a.so"), "--compiler", "none").stderr == ""


@pytest.mark.skipif(not shutil.which("g++"), reason="no compiler")
def test_the_flags_leave_the_processs_rounding_alone() -> None:
    """-ffast-math would flush what is almost zero to zero in the whole process, from the library's loading on."""
    assert not {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"} & set(build.FLAGS)
