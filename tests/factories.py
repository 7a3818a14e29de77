"""Things that tests need and nobody should have to download; seeded, so the same in any order of tests."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from infra.bench.outside import Outside
from infra.bench.ways import STEPS
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


def around(ours: float, pil: float, name: str = "1 MP JPEG") -> Outside:
    """One turn of a photo: decoding takes half of that many ms, the four other steps an eighth each; and a
    conversion of 200 ms, of which 10 are not inference.
    """
    parts = dict(zip(STEPS, (0.5, 0.125, 0.125, 0.125, 0.125), strict=True))
    steps = ({step: [total * part] for step, part in parts.items()} for total in (ours, pil))
    return Outside(name, 345_678, *steps, conversions=[200.0], outside=[10.0])
