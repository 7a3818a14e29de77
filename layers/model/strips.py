"""The generator with its last three layers in strips of rows: the same pictures in half the memory.

Run as in generator.py, a layer needs its input, the padded input, its output and the normalised output. At full
size that is 2 GB for 1024×1024 in float32, more than a function of 1,769 MB has. Here the layers at full size keep
input and output, and all between is strips of a few megabytes, which stay in the processor's cache. GroupNorm's
statistics are still the whole picture's, so strips leave no trace. What it costs is in docs/performance.md.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from layers.model.generator import ConvNormLReLU, Generator

STRIP_BYTES = 4 * 1024 * 1024  # of the larger of a layer's input and output
LEAST_ROWS = 4


class Layer(nn.Module):
    """(1, c_in, h, w), resized to (H, W) if it is not -> (1, c_out, H, W): as a ConvNormLReLU of stride 1."""

    def __init__(self, like: ConvNormLReLU, align_corners: bool) -> None:
        super().__init__()
        conv, norm, activation = like[1], like[2], like[3]
        assert isinstance(conv, nn.Conv2d)
        assert isinstance(norm, nn.GroupNorm)
        assert isinstance(activation, nn.LeakyReLU)
        self.conv, self.eps, self.slope = conv, norm.eps, activation.negative_slope
        self.weight, self.bias = norm.weight.detach().float(), norm.bias.detach().float()
        self.margin, self.channels = conv.kernel_size[0] // 2, conv.out_channels
        self.widest = max(conv.in_channels, conv.out_channels)
        self.align_corners = align_corners
        self.strip_bytes, self.least_rows = STRIP_BYTES, LEAST_ROWS  # TorchScript sees no globals

    def forward(self, x: Tensor, height: int, width: int) -> Tensor:
        size = [1, self.channels, height, width]
        y = torch.empty(size, dtype=x.dtype, memory_format=torch.channels_last)
        rows = self._rows(y)
        total, squares = torch.zeros([], dtype=torch.float64), torch.zeros([], dtype=torch.float64)
        for begin in range(0, height, rows):
            strip = self.conv(self._input(x, begin, min(begin + rows, height), height, width))
            y[:, :, begin : begin + rows].copy_(strip)
            strip = strip.float()
            total += strip.sum().double()
            squares += torch.linalg.vector_norm(strip).double().square()
        self._normalise(y, total / y.numel(), squares / y.numel(), rows)
        return y

    def _rows(self, y: Tensor) -> int:
        """Of a strip: a power of two, so that pictures of one width share oneDNN's kernels."""
        rows = self.least_rows
        while 2 * rows * y.size(3) * self.widest * y.element_size() <= self.strip_bytes:
            rows *= 2
        return rows

    def _input(self, x: Tensor, begin: int, end: int, height: int, width: int) -> Tensor:
        """What rows begin to end are convolved from, padded by reflection where the picture ends."""
        first, last = max(begin - self.margin, 0), min(end + self.margin, height)
        resized = height != x.size(2) or width != x.size(3)
        strip = upsampled(x, first, last, height, width, self.align_corners) if resized else x[:, :, first:last]
        above, below = first - (begin - self.margin), end + self.margin - last
        return F.pad(strip, [self.margin, self.margin, above, below], mode="reflect")

    def _normalise(self, y: Tensor, mean: Tensor, mean_square: Tensor, rows: int) -> None:
        """GroupNorm of one group, then leaky ReLU, in place: (y - mean) / √(variance + eps) · weight + bias."""
        scale = self.weight * torch.rsqrt(mean_square - mean * mean + self.eps).float()
        shift = self.bias - mean.float() * scale
        zero, one = torch.zeros_like(scale), torch.ones_like(scale)
        for begin in range(0, y.size(2), rows):
            strip = y[:, :, begin : begin + rows]
            # One pass for a factor and a summand per channel.
            normal = torch.batch_norm(strip, scale, shift, zero, one, False, 0.0, 0.0, False)
            strip.copy_(F.leaky_relu(normal, self.slope, inplace=True))


def upsampled(x: Tensor, first: int, last: int, height: int, width: int, align_corners: bool) -> Tensor:
    """Rows first to last of F.interpolate(x, (height, width), mode="bilinear")."""
    rows = torch.arange(first, last, dtype=torch.float32)
    if align_corners:
        at = rows * (float(x.size(2) - 1) / float(max(height - 1, 1)))
    else:
        at = torch.clamp((rows + 0.5) * (float(x.size(2)) / float(height)) - 0.5, min=0.0)
    above = at.floor().clamp(max=float(x.size(2) - 1))
    low = above.to(torch.int64)
    high = torch.clamp(low + 1, max=x.size(2) - 1)
    start, stop = int(low[0]), int(high[-1]) + 1
    # Columns at the source's rows, then rows; as N×H×W×C, since index_select would forget channels-last.
    source = x[:, :, start:stop]
    wide = F.interpolate(source, [stop - start, width], mode="bilinear", align_corners=align_corners)
    wide = wide.permute(0, 2, 3, 1)
    share = (at - above).to(x.dtype)[:, None, None]
    mixed = torch.lerp(wide.index_select(1, low - start), wide.index_select(1, high - start), share)
    return mixed.permute(0, 3, 1, 2)


class Strips(nn.Module):
    """As Generator, whose weights it has: (N, 3, H, W) in [-1, 1] -> (N, 3, H, W)."""

    def __init__(self, generator: Generator) -> None:
        super().__init__()
        layers = (each for each in generator.block_e if isinstance(each, ConvNormLReLU))
        self.generator = generator
        self.block_e = nn.ModuleList(Layer(each, generator.align_corners) for each in layers)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(0) == 1:
            return self._picture(x)
        return torch.cat([self._picture(x[i : i + 1]) for i in range(x.size(0))])

    def _picture(self, x: Tensor) -> Tensor:
        height, width = x.size(2), x.size(3)
        y = self.generator.at_half(x)
        for layer in self.block_e:
            y = layer(y, height, width)
        picture: Tensor = self.generator.out_layer(y)
        return picture
