"""One engine in a process of its own: `python -m infra.bench.worker NAME FOLDER THREADS TIMES`; figures on stdout.

FOLDER has the inputs (engines.prepare) and photos.npy, (N, 3, H, W) in [-1, 1]; pictures go to NAME.npy there.
NAME may also be a limit: the time that the network's multiplications take as one matrix product of that dtype.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

WARM_UP = 2
FLOP_512 = 210.3e9  # of the network at 512×512 (DESIGN.md), linear in pixels
PRODUCT = 2048  # side of the matrices, large enough for the full rate


def main(name: str, folder: Path, threads: int, times: int) -> dict[str, Any]:
    import numpy as np
    import torch

    torch.set_num_threads(threads)
    photos = np.load(folder / "photos.npy")
    if name.startswith("limit "):
        scale = photos.shape[2] * photos.shape[3] / 512**2
        return _measured(_product(torch, name.removeprefix("limit "), FLOP_512 * scale), times)
    from infra.bench.engines import ENGINES

    begun = time.perf_counter()
    network = ENGINES[name](folder, threads)
    for _ in range(WARM_UP):
        network(photos[:1])
    ready = time.perf_counter() - begun
    figures = _measured(lambda: network(photos[:1]), times)
    np.save(folder / f"{name}.npy", np.concatenate([network(photo[None]) for photo in photos]))
    return {**figures, "ready": ready}


def _product(torch: Any, dtype: str, flop: float) -> Callable[[], float]:
    a, b = (torch.rand(PRODUCT, PRODUCT).to(getattr(torch, dtype)) for _ in range(2))
    share = flop / (2 * PRODUCT**3)

    def run() -> float:
        """Seconds for all of `flop`, from one product."""
        begun = time.perf_counter()
        torch.mm(a, b)
        return (time.perf_counter() - begun) * share

    run()
    return run


def _measured(run: Callable[[], Any], times: int) -> dict[str, Any]:
    latencies, cpu, faults = [], [], []
    for _ in range(times):
        before, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        said = run()
        latencies.append(said if isinstance(said, float) else time.perf_counter() - begun)
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        faults.append(after.ru_minflt - before.ru_minflt)
    return {"latency": latencies, "cpu": cpu, "faults": faults, "peak_mib": _peak_mib()}


def _peak_mib() -> float:
    """VmHWM: ru_maxrss would begin with what the parent process had."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # TorchScript is deprecated, and says so at every step
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # engines print to stdout
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))), file=out)
