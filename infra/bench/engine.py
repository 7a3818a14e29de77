"""`animegan bench engine`: the network's engines side by side, each in fresh processes, taking turns."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from infra.allocators import tcmalloc
from infra.bench import engines
from infra.bench.engines import Array
from infra.bench.likeness import Likeness, likeness
from infra.errors import BadRequest

ROOT = Path(__file__).parents[2]
CHECKPOINT = ROOT / "layers/model/weights/cel.pt"
LIMITS = ("limit float32", "limit bfloat16")


@dataclass
class Measured:
    """Of one engine, over all its processes: seconds, CPU seconds, page faults, MiB, seconds until it was warm."""

    latency: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)
    ready: list[float] = field(default_factory=list)
    likeness: Likeness | None = None


def photos(paths: list[Path], size: int) -> Array:
    """(N, 3, size, size) in [-1, 1]: the middle of each photo, as large as it goes. Raises BadRequest."""
    import cv2

    found = []
    for path in paths:
        if (pixels := cv2.imread(str(path), cv2.IMREAD_COLOR_RGB)) is None:
            raise BadRequest(f"{path} is no photo that can be read")
        side = min(pixels.shape[:2])
        top, left = (pixels.shape[0] - side) // 2, (pixels.shape[1] - side) // 2
        square = cv2.resize(
            pixels[top : top + side, left : left + side], (size, size), interpolation=cv2.INTER_AREA
        )
        found.append(square.transpose(2, 0, 1).astype(np.float32) / 127.5 - 1)
    return np.stack(found)


def available(bfloat16: bool) -> Iterator[str]:
    """Engines that are installed and that this processor has the instructions for, the reference first."""
    for name in engines.ENGINES:
        installed = name not in engines.NEEDS or importlib.util.find_spec(engines.NEEDS[name])
        able = bfloat16 or name not in engines.HARDWARE_BFLOAT16
        compiler = name != "torch.compile" or shutil.which("g++") or shutil.which("c++")
        if installed and able and compiler:
            yield name


def compare(names: list[str], folder: Path, threads: int, rounds: int, times: int) -> dict[str, Measured]:
    """`folder` is as engines.prepare leaves it, with photos.npy. Raises BadRequest where an engine fails."""
    measured = {name: Measured() for name in [*LIMITS, *names]}
    for _ in range(rounds):
        for name, sofar in measured.items():
            said = _process(name, folder, threads, times)
            for key in ("latency", "cpu", "faults"):
                getattr(sofar, key).extend(said[key])
            sofar.peak_mib.append(said["peak_mib"])
            sofar.ready.append(said.get("ready", 0.0))
    reference = np.load(folder / f"{engines.REFERENCE}.npy")
    for name in names:
        measured[name].likeness = likeness(np.load(folder / f"{name}.npy"), reference)
    return measured


def _process(name: str, folder: Path, threads: int, times: int) -> dict[str, Any]:
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT)}
    environment.pop("LD_PRELOAD", None)
    if name in engines.OURS:  # as the image has it
        environment["LD_PRELOAD"] = tcmalloc()
    command = [sys.executable, "-m", "infra.bench.worker", name, str(folder), str(threads), str(times)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise BadRequest(f"{name} fails: {(done.stderr.strip().splitlines() or ['it does not say why'])[-1]}")
    said: dict[str, Any] = json.loads(done.stdout)
    return said
