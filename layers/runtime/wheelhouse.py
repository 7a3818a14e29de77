"""Fills build/image/ with all that the image is built of, so that the build itself needs no network.

    build/image/wheels/     the locked packages and torch's CPU build, for the image's Python, not this one's
                            with requirements.txt, all of them with their hashes, and that Python's version
    build/image/lib/        the allocator that is preloaded
    build/image/compiler/   what layers/native is compiled with; for arm64, which that is not for, nothing
    build/image/styles/     frozen styles of your own, if any: STYLES_DIR=build/image/styles animegan pull paprika

Run as `python -m layers.runtime.wheelhouse --python 3.12 --arch x86_64`, or `make wheelhouse`.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
INPUTS = Path("build/image")
MACHINES = {"x86_64": "x86_64", "arm64": "aarch64"}  # Lambda's names, and the wheels'
# Amazon Linux 2023, the AWS image's system from Python 3.12 on, has glibc 2.34.
GLIBCS = ("manylinux2014", *(f"manylinux_2_{minor}" for minor in range(17, 35)))

# gperftools' tcmalloc (BSD-3-Clause) as Debian 12 builds it: it asks for glibc 2.29 and no newer. Measured against
# glibc's malloc, tuned glibc, jemalloc and tbbmalloc in docs/performance.md.
DEBIAN = "https://deb.debian.org/debian/pool/main/g/google-perftools"
ALLOCATORS = {
    "x86_64": (
        f"{DEBIAN}/libtcmalloc-minimal4_2.10-1_amd64.deb",
        "464aa2e804b0d48300ad71edfe525599deed8765db4af7a8d9de60326dc8e4c7",
    ),
    "arm64": (
        f"{DEBIAN}/libtcmalloc-minimal4_2.10-1_arm64.deb",
        "faa739963aca4f81a0e1d298211cf7543fefd9abce762c0515fa8e7959b533f0",
    ),
}
ALLOCATOR = "libtcmalloc_minimal.so.4"


class WheelhouseError(Exception):
    """What could not be had, and what to do about it."""


def fill(python: str, arch: str, torch: str, torch_index: str) -> None:
    """Fetch everything into build/image/. Raises WheelhouseError, OSError."""
    wheels = INPUTS / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    (INPUTS / "styles").mkdir(parents=True, exist_ok=True)
    (INPUTS / "styles" / ".keep").touch()  # COPY needs something to copy
    lock = HERE / "requirements.txt"
    download(wheels, python, arch, "--require-hashes", "-r", str(lock))
    download(wheels, python, arch, "--index-url", torch_index, torch)
    (wheels / "requirements.txt").write_text(lock.read_text() + torch_requirement(wheels))
    (wheels / "python").write_text(python)
    fetch_allocator(arch, INPUTS / "lib")
    fetch_compiler(python, arch, INPUTS / "compiler")


def download(wheels: Path, python: str, arch: str, *what: str) -> None:
    """pip download for another Python and machine than this one. Raises WheelhouseError."""
    tags = [part for glibc in GLIBCS for part in ("--platform", f"{glibc}_{MACHINES[arch]}")]
    target = ["--python-version", python, "--implementation", "cp", *tags]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    if subprocess.run([*command, *target, "--dest", str(wheels), *what]).returncode:
        raise WheelhouseError(f"pip finds no {what[-1]} for Python {python} on {arch}; its reason is above")


def torch_requirement(wheels: Path) -> str:
    """torch's line for the build, checked against torch.sha256 where that knows this wheel."""
    (wheel,) = wheels.glob("torch-*.whl")
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    locked = {name: digest for digest, name in map(str.split, (HERE / "torch.sha256").read_text().splitlines())}
    if locked.get(wheel.name, found) != found:
        raise WheelhouseError(f"{wheel.name} is not the one that torch.sha256 has: its SHA-256 is {found}")
    if wheel.name not in locked:
        print(f"{wheel.name} is not in layers/runtime/torch.sha256: taken as PyTorch's index vouches for it")
    if "+cpu" not in wheel.name:
        raise WheelhouseError(f"{wheel.name} is not the CPU build, but gigabytes of CUDA")
    return f"torch=={wheel.name.split('-')[1]} --hash=sha256:{found}\n"


def fetch_allocator(arch: str, into: Path) -> None:
    """Raises WheelhouseError where what comes is not what was measured, OSError."""
    url, sha256 = ALLOCATORS[arch]
    with urllib.request.urlopen(url, timeout=60) as answer:
        package: bytes = answer.read()
    if hashlib.sha256(package).hexdigest() != sha256:
        raise WheelhouseError(f"{url} is not the package that is wanted (SHA-256 differs)")
    into.mkdir(parents=True, exist_ok=True)
    members = dict(archived(package))
    data = next(content for name, content in members.items() if name.startswith("data.tar"))
    with tarfile.open(fileobj=io.BytesIO(data)) as files:
        for file in files:
            if file.isfile() and Path(file.name).name.startswith(ALLOCATOR):
                (into / ALLOCATOR).write_bytes(files.extractfile(file).read())  # type: ignore[union-attr]
            elif file.isfile() and Path(file.name).name == "copyright":
                (into / "tcmalloc.copyright").write_bytes(files.extractfile(file).read())  # type: ignore[union-attr]


def fetch_compiler(python: str, arch: str, into: Path) -> None:
    """Raises WheelhouseError, OSError."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    lock = HERE / "compiler.txt" if arch == "x86_64" else None
    (into / "requirements.txt").write_text(lock.read_text() if lock else "")  # COPY needs something to copy
    if lock:
        download(into, python, arch, "--require-hashes", "-r", str(lock))


def archived(deb: bytes) -> Iterator[tuple[str, bytes]]:
    """(name, content) of each member of an ar(5) archive: 60 bytes of header, content, padding to even."""
    at = len(b"!<arch>\n")
    while at + 60 <= len(deb):
        name, size = deb[at : at + 16].decode().rstrip(" /"), int(deb[at + 48 : at + 58])
        yield name, deb[at + 60 : at + 60 + size]
        at += 60 + size + size % 2


def main() -> int:
    arguments = argparse.ArgumentParser(description="Fetch what the image is built of into build/image/.")
    arguments.add_argument("--python", default="3.12", help="of the base image (default: %(default)s)")
    arguments.add_argument("--arch", default="x86_64", choices=sorted(MACHINES))
    arguments.add_argument("--torch", required=True, help="torch==VERSION")
    arguments.add_argument("--torch-index", required=True)
    given = arguments.parse_args()
    try:
        fill(given.python, given.arch, given.torch, given.torch_index)
    except (WheelhouseError, OSError) as error:
        print(f"wheelhouse: {error}", file=sys.stderr)
        return 1
    print(f"build/image/ is filled for Python {given.python} on {given.arch}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
