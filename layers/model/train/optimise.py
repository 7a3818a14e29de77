"""Orthogonalised momentum: every direction of a weight matrix gets the same step.

Gradients of this generator are dominated by a few directions, the channels' means; Adam's steps follow them and
colours come last.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

MOMENTUM = 0.9
ADAM_SHARE = 0.05  # Adam's rate for all that is no matrix, beside the matrices' rate


class Muon:
    """Orthogonalised momentum for matrices (Jordan et al., "Muon", 2024), Adam for norms, depthwise and output."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.matrices = [p for p in parameters if p.ndim == 4 and p.shape[1] > 1 and p.shape[0] > 3]
        known = {id(p) for p in self.matrices}
        self.adam = torch.optim.Adam([p for p in parameters if id(p) not in known], betas=(0.9, 0.99))
        self.momentum = [torch.zeros_like(p) for p in self.matrices]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One step along the parameters' gradients, which are cleared."""
        self.adam.param_groups[0]["lr"] = rate * ADAM_SHARE
        self.adam.step()
        self.adam.zero_grad()
        for weight, momentum in zip(self.matrices, self.momentum, strict=True):
            assert weight.grad is not None
            momentum.lerp_(weight.grad, 1 - MOMENTUM)
            weight.sub_(rate * orthogonal(weight.grad.lerp(momentum, MOMENTUM).flatten(1)).view_as(weight))
            weight.grad = None

    def state_dict(self) -> dict[str, Any]:
        """What a resume needs."""
        return {"adam": self.adam.state_dict(), "momentum": self.momentum}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from `state_dict`."""
        self.adam.load_state_dict(state["adam"])
        self.momentum = state["momentum"]


def orthogonal(matrix: Tensor) -> Tensor:
    """(M, N) -> about the nearest semi-orthogonal (M, N), times √(M/N) where that is above 1: Newton-Schulz."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.T if tall else matrix).bfloat16()
    x = x / (x.norm() + 1e-12)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    even: Tensor = (x.T if tall else x).float() * math.sqrt(max(1, matrix.shape[0] / matrix.shape[1]))
    return even
