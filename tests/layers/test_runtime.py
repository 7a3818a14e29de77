"""What the image is built with: the wheelhouse, and what is taken out of packages."""

from __future__ import annotations

import ctypes
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from layers.runtime import slim, wheelhouse
from layers.runtime.wheelhouse import ALLOCATOR, WheelhouseError

ROOT = Path(__file__).parents[2]


def deb(files: dict[str, bytes]) -> bytes:
    """A Debian package as dpkg-deb makes them: ar(5) with a control and a data archive."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    parts = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": data.getvalue()}
    packed = b"!<arch>\n"
    for name, content in parts.items():
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        packed += header + content + b"\n" * (len(content) % 2)
    return packed


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The allocator's package, where the wheelhouse looks for it."""
    files = {
        f"./usr/lib/x/{ALLOCATOR}.5.9": b"the library",
        "./usr/share/doc/y/copyright": b"BSD",
        "./other": b"no",
    }
    path = tmp_path / "allocator.deb"
    path.write_bytes(deb(files))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(wheelhouse, "ALLOCATORS", {"x86_64": (path.as_uri(), digest)})
    return path


def test_the_allocator_and_its_licence_come_out_of_the_package(package: Path, tmp_path: Path) -> None:
    wheelhouse.fetch_allocator("x86_64", tmp_path / "lib")
    found = {path.name: path.read_bytes() for path in (tmp_path / "lib").iterdir()}
    assert found == {ALLOCATOR: b"the library", "tcmalloc.copyright": b"BSD"}


def test_another_package_than_the_one_that_was_measured_is_refused(package: Path, tmp_path: Path) -> None:
    package.write_bytes(deb({f"./usr/lib/{ALLOCATOR}": b"another library"}))
    with pytest.raises(WheelhouseError, match="SHA-256 differs"):
        wheelhouse.fetch_allocator("x86_64", tmp_path / "lib")
    assert not (tmp_path / "lib").exists()


def test_a_locked_compiler_is_fetched_for_the_processor_that_there_are_operators_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(wheelhouse, "download", lambda *what: asked.append(what))
    wheelhouse.fetch_compiler("3.12", "x86_64", tmp_path / "x86")
    assert "ziglang==" in (tmp_path / "x86/requirements.txt").read_text()
    assert [what[:4] for what in asked] == [(tmp_path / "x86", "3.12", "x86_64", "--require-hashes")]
    wheelhouse.fetch_compiler("3.12", "arm64", tmp_path / "arm")
    assert (tmp_path / "arm/requirements.txt").read_text() == ""
    assert len(asked) == 1


@pytest.fixture
def torch_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """A wheel of that name, and torch.sha256 with that text."""
    monkeypatch.setattr(wheelhouse, "HERE", tmp_path)

    def make(name: str, lock: str) -> Path:
        (tmp_path / name).write_bytes(b"wheel")
        (tmp_path / "torch.sha256").write_text(lock)
        return tmp_path

    return make


WHEEL = "torch-2.13.0+cpu-cp312-cp312-manylinux_2_28_x86_64.whl"
DIGEST = hashlib.sha256(b"wheel").hexdigest()


@pytest.mark.parametrize("lock", ["", f"{DIGEST}  {WHEEL}\n"])
def test_torch_goes_into_the_builds_requirements_with_its_hash(
    torch_wheel: Callable[[str, str], Path], lock: str
) -> None:
    folder = torch_wheel(WHEEL, lock)
    assert wheelhouse.torch_requirement(folder) == f"torch==2.13.0+cpu --hash=sha256:{DIGEST}\n"


def test_a_torch_that_is_not_the_locked_one_is_refused(torch_wheel: Callable[[str, str], Path]) -> None:
    folder = torch_wheel(WHEEL, f"{'0' * 64}  {WHEEL}\n")
    with pytest.raises(WheelhouseError, match=r"is not the one that torch\.sha256 has"):
        wheelhouse.torch_requirement(folder)


def test_a_torch_with_cuda_is_refused(torch_wheel: Callable[[str, str], Path]) -> None:
    folder = torch_wheel("torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl", "")
    with pytest.raises(WheelhouseError, match="CUDA"):
        wheelhouse.torch_requirement(folder)


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "a/one.py",
        "a/tests/test.py",
        "a/deep/tests/x.py",
        "b/keep.so",
        "b/data/s3/x",
        "b/data/ec2/x",
        "b/data/f",
    ):
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    monkeypatch.setattr(slim, "UNUSED", tmp_path / "unused.txt")
    return tmp_path / "packages"


def left(packages: Path) -> set[str]:
    return {path.relative_to(packages).as_posix() for path in packages.rglob("*") if path.is_file()}


def test_what_is_listed_goes_and_what_is_marked_stays(packages: Path) -> None:
    slim.UNUSED.write_text("# why\n**/tests\na/deep\n\nb/data/*/\n!b/data/s3\n")
    slim.slim(packages)
    assert left(packages) == {"a/one.py", "b/keep.so", "b/data/s3/x", "b/data/f"}


def test_a_pattern_that_finds_nothing_is_named(packages: Path) -> None:
    slim.UNUSED.write_text("a/gone\n")
    with pytest.raises(ValueError, match="a/gone"):
        slim.slim(packages)
    assert "a/one.py" in left(packages)


@pytest.mark.skipif(sys.platform != "linux", reason="ELF is Linux's format")
def test_a_library_without_its_symbol_table_is_smaller_and_still_works(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    source = tmp_path / "library.c"
    source.write_text("int answer(void) { return 42; }\n")
    if not (compiler := shutil.which("gcc") or shutil.which("cc")):
        library = Path(shutil.copy(next(Path(np.__file__).parent.rglob("_multiarray_umath*.so")), library))
        slim.cut_symbols(library)
        assert library.read_bytes()[40:48] == bytes(8)
        return
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    before = library.stat().st_size
    slim.cut_symbols(library)
    assert library.stat().st_size < before
    assert ctypes.CDLL(str(library)).answer() == 42


def test_a_file_that_only_looks_like_a_library_is_left_alone(packages: Path) -> None:
    slim.cut_symbols(packages / "b/keep.so")
    assert (packages / "b/keep.so").read_text() == "x"
