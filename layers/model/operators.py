"""The library of layers/native, if it was built and this processor can run it. Imports torch only to load it."""

from __future__ import annotations

from pathlib import Path

from layers.model.manifest import sha256

LIBRARY = Path(__file__).parents[1] / "native" / "libanimegan.so"
AVX512 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
NEEDS = {"float32": AVX512, "bfloat16": (*AVX512, "avx512_bf16")}
CPUINFO = Path("/proc/cpuinfo")

_digests: dict[str, str] = {}  # of libraries as they were loaded: their files may have been replaced since


def library() -> Path | None:
    """Where it is, or None: not built, or for another processor."""
    return LIBRARY if LIBRARY.is_file() and able("float32", CPUINFO) else None


def able(precision: str, cpuinfo: Path) -> bool:
    """True if every flag that is needed is one of this processor's."""
    try:
        flags = next(line for line in cpuinfo.read_text().splitlines() if line.startswith("flags"))
    except (OSError, StopIteration):
        return False
    return set(NEEDS[precision]) <= set(flags.split())


def loaded(path: Path) -> bool:
    """True if torch.ops.animegan is what `path` has; the first such library of a process is its only one."""
    import torch

    first = next((each for each in torch.ops.loaded_libraries if Path(each).name == path.name), None)
    try:
        digest = sha256(path)
        if first is None:
            torch.ops.load_library(path)  # type: ignore[no-untyped-call]
            first = str(path.resolve())
            _digests[first] = digest
        return (_digests.get(first) or sha256(Path(first))) == digest
    except OSError:
        return False
