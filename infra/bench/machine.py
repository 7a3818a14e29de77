"""The machine and the versions that a benchmark's figures hold for."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
FEATURES = (
    "avx2",
    "avx512f",
    "avx512_bf16",
    "amx_bf16",
    "amx_int8",
    "asimd",
    "bf16",
    "sve",
)  # what kernels differ by
PACKAGES = ("torch", "opencv-python-headless", "numpy", "onnxruntime", "openvino")


def described() -> dict[str, str]:
    """Name -> value, in the order of a table. Packages that are not installed are left out."""
    cpu, features = _cpu()
    return {
        "CPU": cpu,
        "features": " ".join(features) or "unknown",
        "CPUs": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "load before": f"{os.getloadavg()[0]:.2f}",
        **{package: said for package in PACKAGES if (said := _version(package))},
    }


def _cpu() -> tuple[str, list[str]]:
    try:
        said = CPUINFO.read_text()
    except OSError:
        return platform.processor() or platform.machine(), []
    name = re.search(r"^model name\s*: (.+)$", said, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*: (.+)$", said, re.MULTILINE)
    known = set(flags[1].split()) if flags else set()
    return name[1] if name else platform.machine(), [feature for feature in FEATURES if feature in known]


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
