"""Things that tests need and nobody should have to download; seeded, so the same in any order of tests."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from layers.model.generator import Generator


def weights(seed: int = 0) -> dict[str, Tensor]:
    """A generator's float32 weights as initialised. Its pictures are smooth, neither flat nor saturated."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Generator().state_dict()


def checkpoint(path: Path, seed: int = 0, half: bool = False) -> Path:
    """`weights(seed)` saved to `path`, as training would; returns `path`."""
    torch.save({key: value.half() if half else value for key, value in weights(seed).items()}, path)
    return path


def photo(height: int = 64, width: int = 64, seed: int = 0) -> Tensor:
    """(1, 3, H, W) uniform noise in [-1, 1]."""
    return torch.rand(1, 3, height, width, generator=torch.Generator().manual_seed(seed)) * 2 - 1
