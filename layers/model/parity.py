"""How far a frozen module may be from the eager float32 generator, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor

from layers.model.errors import ParityError

Network = Callable[[Tensor], Tensor]
Size = tuple[int, int]  # height, width

# By align_corners. The last of each is no multiple of 32; without align_corners a side must still be one of 4.
SIZES: Mapping[bool, tuple[Size, ...]] = {
    True: ((64, 64), (96, 160), (65, 87)),
    False: ((64, 64), (96, 160), (68, 92)),
}

# float32: frozen and channels-last reorder sums, no more; trained weights give up to 8e-6.
MAX_ABS_ERROR = 1e-4
# bfloat16 keeps 8 significant bits: rounding the output alone costs up to 0.002 near ±1, and trained weights
# give 0.003 on average, under half a grey level of 255. 0.03, four levels, is where a difference begins to show.
# The maximum is recorded but no gate: one pixel on a hard edge may swing far without anyone seeing it.
MEAN_ABS_ERROR = 0.03


def measure(
    eager: Network, frozen: Network, dtype: torch.dtype, sizes: Iterable[Size]
) -> tuple[dict[str, float], dict[str, float]]:
    """Maximum and mean absolute error per size `HxW`, outputs in [-1, 1], on seeded uniform noise."""
    worst: dict[str, float] = {}
    mean: dict[str, float] = {}
    seeded = torch.Generator().manual_seed(0)
    for height, width in sizes:
        photo = torch.rand(1, 3, height, width, generator=seeded) * 2 - 1
        cast = photo.to(dtype=dtype, memory_format=torch.channels_last)
        with torch.inference_mode():
            frozen(cast)  # the first call only profiles; the plan that serves comes after
            error = (eager(photo) - frozen(cast).float()).abs()
        worst[f"{height}x{width}"], mean[f"{height}x{width}"] = error.max().item(), error.mean().item()
    return worst, mean


def check_parity(name: str, worst: Mapping[str, float], mean: Mapping[str, float]) -> None:
    """Raise ParityError where module `name` (float32 or bfloat16) is over its bound, or not a number."""
    kind, bound, errors = (
        ("maximum", MAX_ABS_ERROR, worst) if name == "float32" else ("mean", MEAN_ABS_ERROR, mean)
    )
    for size, error in errors.items():
        if not error <= bound:  # not `>`, which lets NaN pass
            raise ParityError(
                f"the frozen {name} module differs from the eager generator at {size}: {kind} absolute error "
                f"{error:.2g}, over {bound:g}. Nothing was written; check the weights, then try another torch"
            )
