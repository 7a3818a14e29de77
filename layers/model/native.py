"""The generator through the operators of layers/native: convolutions in fewer multiplications, one pass a layer.

Between layers go a convolution's bare output, (1, H, W, C), and `norm`: a factor, a summand and a slope per
channel, (3, C). GroupNorm's statistics are known when all of a layer is there, so the next one normalises as it
reads. Scripting needs the operators' library to be loaded, as does whoever loads what was frozen.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from layers.model.generator import Generator, InvertedResBlock

PANEL = 32  # of a layer's channels, whose weights lie together
NO_ACTIVATION = 1.0  # as the slope of a leaky ReLU


class Conv(nn.Module):
    """(1, h, w, c), resized to (height, width) if it is not -> (1, height / stride, width / stride, n)."""

    def __init__(self, layer: nn.Module, align_corners: bool) -> None:
        super().__init__()
        conv, norm, slope = parts(layer)
        self.kernel, self.stride = conv.kernel_size[0], conv.stride[0]
        self.weight = panels(conv.weight)
        self.gamma, self.beta = norm.weight.detach().float(), norm.bias.detach().float()
        self.eps, self.slope, self.align_corners = norm.eps, slope, align_corners

    def forward(self, x: Tensor, norm: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
        layer: tuple[Tensor, Tensor] = torch.ops.animegan.conv(
            x, norm, self.weight, self.gamma, self.beta, self.eps, self.slope, self.kernel, self.stride,
            height, width, self.align_corners,
        )
        return layer


class Depthwise(nn.Module):
    """(1, h, w, c) -> (1, h, w, c), each channel by itself."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        conv, norm, self.slope = parts(layer)
        assert conv.bias is not None
        self.weight = conv.weight.detach().float().flatten(1).t().contiguous()
        self.bias, self.eps = conv.bias.detach().float(), norm.eps
        self.gamma, self.beta = norm.weight.detach().float(), norm.bias.detach().float()

    def forward(self, x: Tensor, norm: Tensor) -> tuple[Tensor, Tensor]:
        layer: tuple[Tensor, Tensor] = torch.ops.animegan.depthwise(
            x, norm, self.weight, self.bias, self.gamma, self.beta, self.eps, self.slope
        )
        return layer


class Block(nn.Module):
    """InvertedResBlock: (1, h, w, c) -> (1, h, w, n)."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        assert isinstance(block, InvertedResBlock)
        widen, depthwise, *project = block.layers
        self.widen, self.depthwise = Conv(widen, True), Depthwise(depthwise)
        self.project = Conv(nn.Sequential(*project), True)
        self.residual = block.residual

    def forward(self, x: Tensor, norm: Tensor) -> tuple[Tensor, Tensor]:
        height, width = x.size(1), x.size(2)
        y, y_norm = self.widen(x, norm, height, width)
        y, y_norm = self.depthwise(y, y_norm)
        y, y_norm = self.project(y, y_norm, height, width)
        if not self.residual:
            return y, y_norm
        return torch.ops.animegan.add(x, norm, y, y_norm), torch.empty(0)


class Operators(nn.Module):
    """As Generator, whose weights it has: (N, 3, H, W) in [-1, 1] -> (N, 3, H, W) float32, channels-last.

    For bfloat16 input, layers give bfloat16, and multiply it, which needs a processor with AVX512-BF16 or AMX.
    """

    def __init__(self, generator: Generator) -> None:
        super().__init__()
        corners = generator.align_corners
        self.down_a = nn.ModuleList(Conv(layer, corners) for layer in generator.block_a)
        self.down_b = nn.ModuleList(Conv(layer, corners) for layer in generator.block_b)
        first, *blocks, last = generator.block_c
        self.first, self.last = Conv(first, corners), Conv(last, corners)
        self.blocks = nn.ModuleList(Block(block) for block in blocks)
        self.up_d = nn.ModuleList(Conv(layer, corners) for layer in generator.block_d)
        self.up_e = nn.ModuleList(Conv(layer, corners) for layer in generator.block_e)
        self.colours = generator.out_layer.get_parameter("0.weight").detach().float().flatten(1).contiguous()

    def forward(self, x: Tensor) -> Tensor:
        photos = x.permute(0, 2, 3, 1).contiguous()
        pictures = [self._picture(photos[i : i + 1]) for i in range(x.size(0))]
        return (pictures[0] if len(pictures) == 1 else torch.cat(pictures)).permute(0, 3, 1, 2)

    def _picture(self, x: Tensor) -> Tensor:
        y, norm, height, width = x, torch.empty(0), x.size(1), x.size(2)
        for layer in self.down_a:
            y, norm = layer(y, norm, y.size(1), y.size(2))
        half_height, half_width = y.size(1), y.size(2)
        for layer in self.down_b:
            y, norm = layer(y, norm, y.size(1), y.size(2))
        y, norm = self.first(y, norm, y.size(1), y.size(2))
        for block in self.blocks:
            y, norm = block(y, norm)
        y, norm = self.last(y, norm, y.size(1), y.size(2))
        for layer in self.up_d:
            y, norm = layer(y, norm, half_height, half_width)
        for layer in self.up_e:
            y, norm = layer(y, norm, height, width)
        picture: Tensor = torch.ops.animegan.picture(y, norm, self.colours)
        return picture.tanh_()


def parts(layer: nn.Module) -> tuple[nn.Conv2d, nn.GroupNorm, float]:
    """The convolution, its norm and the slope of its leaky ReLU, in whatever pads and activates."""
    found = {type(each): each for each in layer.children()}
    conv, norm, activation = found[nn.Conv2d], found[nn.GroupNorm], found.get(nn.LeakyReLU)
    assert isinstance(conv, nn.Conv2d)
    assert isinstance(norm, nn.GroupNorm)
    return conv, norm, activation.negative_slope if isinstance(activation, nn.LeakyReLU) else NO_ACTIVATION


def panels(weight: Tensor) -> Tensor:
    """(n, c, k, k) -> (n / 32, k · k · c, 32): tap by tap, and in each the channels."""
    rows = weight.detach().float().permute(2, 3, 1, 0).reshape(-1, weight.shape[0] // PANEL, PANEL)
    return rows.transpose(0, 1).contiguous()
