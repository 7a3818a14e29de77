"""`python -m infra.doctor.trial`: the real function in this process, and what can be seen of it from inside.

One JSON object per step on stdout, each as soon as it is known, so that whoever reads has all there was before a
crash. The parent judges; here is only measured.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

LATER = 4  # conversions after the first of the same photo
SMALL = 256  # their side, or half the largest, so that the two are apart
REFUSED = 1  # exit code where the function does not start
STATUS, MAPS = Path("/proc/self/status"), Path("/proc/self/maps")
LIBRARY = re.compile(r"/(lib(?:tcmalloc|jemalloc|mimalloc)[\w.-]*)$", re.MULTILINE)


def main(side: int) -> int:
    """Convert photos of SMALL and of `side` pixels. Where the function does not start, `refused` says why."""
    out, log = sys.stdout, io.StringIO()

    def tell(**facts: Any) -> None:
        print(json.dumps(facts), file=out, flush=True)

    try:
        function = _start(log)
    except Exception as error:
        tell(refused=f"{error}" if _is_ours(error) else f"{type(error).__name__}: {error}")
        return REFUSED
    tell(started={**_process(), "log": _taken(log)})
    looks = ("frozen", _frozen), ("operators", _operators), ("inference", _inference), ("threads", _threads)
    for name, look in looks:
        tell(**{name: look()})
    for name, pixels, times in (("small", min(SMALL, side // 2), 1 + LATER), ("large", side, 1)):
        tell(**{name: list(_conversions(function, log, pixels, times))})
    return 0


def _start(log: io.StringIO) -> Any:
    from infra.emulator import Emulator

    os.environ["CACHE_BYTES"] = "0"  # the same photo is converted again
    return Emulator(limits=False, log=log)


def _is_ours(error: Exception) -> bool:
    from handler.errors import SettingsError, StyleError

    return isinstance(error, SettingsError | StyleError)


def _function() -> Any:
    from handler import main as handler_main

    return handler_main._function


def _generator() -> Any:
    from handler.settings import Settings

    return _function().styles[Settings.from_environment().style]


def _frozen() -> dict[str, Any]:
    """A module that is not frozen has parameters, and knows whether it is in training."""
    module = _generator()._module
    parameters = sum(1 for _ in (*module.parameters(), *module.buffers()))
    return {"parameters": parameters, "training": hasattr(module, "training"), "precision": _generator().precision}


def _operators() -> dict[str, Any]:
    from handler.settings import Settings
    from infra.doctor.operators import seen

    settings = Settings.from_environment()
    return seen(_generator(), settings.styles_dir / settings.style)


def _inference() -> dict[str, bool]:
    """What comes out of the generator on a thread of its own, as conversions run: inference mode is per thread."""
    import torch

    x = torch.zeros(1, 3, 64, 64).to(memory_format=torch.channels_last)
    with ThreadPoolExecutor(1) as pool:
        y = pool.submit(_generator(), x).result()
    return {"inference": y.is_inference(), "gradient": y.requires_grad, "finite": bool(y.isfinite().all())}


def _threads() -> dict[str, Any]:
    import cv2
    import torch

    from handler import cpu

    able = torch.cpu.get_capabilities()
    return {
        "torch": torch.get_num_threads(),
        "opencv": cv2.getNumThreads(),
        "vcpus": cpu.vcpus(),
        "bfloat16": bool(able.get("amx_bf16") or able.get("avx512_bf16")),
    }


def _conversions(function: Any, log: io.StringIO, side: int, times: int) -> Iterator[dict[str, Any]]:
    from infra.bench.made_up import jpeg
    from infra.http_event import post

    event = post("/convert", jpeg(side, side), "image/jpeg", {"format": "jpeg"})
    for _ in range(times):
        done = function.invoke(event)
        answered = done.payload.get("statusCode") if isinstance(done.payload, dict) else None
        yield {**_process(), "side": side, "ms": done.duration_ms, "status": answered, "log": _taken(log)}


def _process() -> dict[str, Any]:
    return {"peak_mib": _peak(), "allocators": sorted({*LIBRARY.findall(_read(MAPS))})}


def _peak() -> float | None:
    """Linux's own: ru_maxrss of a new process begins with what its parent had."""
    found = re.search(r"VmHWM:\s*(\d+) kB", _read(STATUS))
    return int(found[1]) / 1024 if found else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _taken(log: io.StringIO) -> list[str]:
    """What was printed since the last time, without what Lambda itself puts between."""
    lines = [line for line in log.getvalue().splitlines() if not line.startswith(("START ", "END ", "REPORT "))]
    log.seek(0)
    log.truncate()
    return lines


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
