"""Compiles the operators: `python -m layers.native.build`; the image's build runs this file with more options.

Nothing needs them: a style frozen without runs on torch alone, with the same pictures in twice the time. So a
missing compiler or another processor is said in one line and is no error, unless --required. The standard library
suffices.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
LIBRARY = HERE / "libanimegan.so"
SOURCE = HERE / "operators.cpp"
COMPILERS = ("g++", "c++", "clang++")
STABLE_ABI = "0x020b000000000000"  # torch 2.11 has all that is called
# AVX-512 as Skylake-SP brought it, by the flags that all compilers have: their names for it differ. No
# -ffast-math: it would change how the whole process rounds, from the moment that the library is loaded.
FLAGS = (
    *("-mavx512bf16", "-mamx-tile", "-mamx-bf16"),  # only what is asked to be bfloat16 runs these
    *("-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl"),
    *("-std=c++20", "-O3", "-mprefer-vector-width=512", "-ffp-contract=fast", "-fno-math-errno"),
    "-fno-trapping-math",
    *("-fPIC", "-shared", "-fvisibility=hidden", "-s", "-Wall", "-Wextra", "-Wno-unused-parameter"),
    f"-DTORCH_TARGET_VERSION={STABLE_ABI}",
)


class NotBuilt(Exception):
    """Why there will be no library."""


def compiler(named: str | None) -> list[str]:
    """The command of a C++ compiler. Raises NotBuilt."""
    wanted = named or os.environ.get("CXX")
    found = [wanted] if wanted else [name for name in COMPILERS if shutil.which(name)]
    if not found:
        raise NotBuilt("no C++ compiler here (g++ or clang++)")
    return shlex.split(found[0])


def torch_folder(named: Path | None) -> Path:
    """Where torch is installed, without importing it. Raises NotBuilt."""
    spec = None if named else find_spec("torch")
    folder = named or (Path(spec.origin).parent if spec and spec.origin else None)
    if not folder or not (folder / "include/torch/csrc/stable/library.h").is_file():
        raise NotBuilt("torch is not here with its headers")
    return folder


def build(out: Path, command: list[str], torch: Path) -> None:
    """Compile aside, so that nobody finds half a library in `out`. Raises NotBuilt, OSError."""
    if platform.machine() != "x86_64":
        raise NotBuilt(f"they are for x86-64, and this is {platform.machine()}")
    aside = out.with_suffix(f".{os.getpid()}")
    links = [f"-I{torch / 'include'}", f"-L{torch / 'lib'}", "-ltorch_cpu"]
    try:
        compiled = subprocess.run(
            [*command, *FLAGS, str(SOURCE), "-o", str(aside), *links], capture_output=True, text=True
        )
        if compiled.returncode:
            said = compiled.stderr.strip().splitlines() or ["it does not say why"]
            raise NotBuilt(f"{command[0]} fails: {next((line for line in said if 'error' in line), said[0])}")
        aside.replace(out)
    finally:
        aside.unlink(missing_ok=True)


def current(out: Path) -> bool:
    """True if `out` is newer than all that it is made of."""
    sources = [path for path in HERE.iterdir() if path.suffix in (".cpp", ".h", ".py")]
    return out.is_file() and out.stat().st_mtime >= max(path.stat().st_mtime for path in sources)


def main() -> int:
    arguments = argparse.ArgumentParser(description="Compile the generator's operators.")
    arguments.add_argument("--out", type=Path, default=LIBRARY)
    arguments.add_argument("--compiler", help="its command (default: $CXX, g++, c++ or clang++)")
    arguments.add_argument("--torch", type=Path, help="torch's folder (default: where Python finds it)")
    arguments.add_argument("--required", action="store_true", help="fail where it cannot be built")
    given = arguments.parse_args()
    if current(given.out):
        return 0
    try:
        build(given.out, compiler(given.compiler), torch_folder(given.torch))
    except (NotBuilt, OSError) as why:
        print(f"Without the native operators, float32 takes twice as long: {why}.", file=sys.stderr)
        return int(given.required)
    print(f"{given.out} is built")
    return 0


if __name__ == "__main__":
    sys.exit(main())
