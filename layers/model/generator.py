"""The AnimeGANv2 generator, whole: an hourglass of convolutions with reflection padding.

Architecture: Chen, Liu & Chen, "AnimeGAN: A Novel Lightweight GAN for Photo Animation" (2020), in the
second version's form, where one-group GroupNorm (layer normalisation over C×H×W) replaces instance norm.
2,143,552 parameters; 210.3 GFLOP at 512×512, linear in the number of pixels.

Attribute names are the published checkpoint format (`block_a.0.1.weight` …), so they are a contract:
inside every `ConvNormLReLU`, index 0 pads, 1 convolves, 2 normalises, 3 activates.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

DOWN = (0, 1, 0, 1)  # left, right, top, bottom: a stride-2 convolution starts exactly at pixel 0
SAME_3 = (1, 1, 1, 1)
SAME_7 = (3, 3, 3, 3)
NONE = (0, 0, 0, 0)


class ConvNormLReLU(nn.Sequential):
    """(N, c_in, H, W) -> (N, c_out, H/stride, W/stride): pad by reflection, convolve, normalise, leaky ReLU."""

    def __init__(
        self,
        c_in: int,
        c_out: int,
        kernel: int = 3,
        stride: int = 1,
        padding: tuple[int, int, int, int] = SAME_3,
        groups: int = 1,
        bias: bool = False,
    ) -> None:
        super().__init__(
            nn.ReflectionPad2d(padding),
            nn.Conv2d(c_in, c_out, kernel, stride, groups=groups, bias=bias),
            nn.GroupNorm(1, c_out),
            nn.LeakyReLU(0.2),
        )


class InvertedResBlock(nn.Module):
    """(N, c_in, H, W) -> (N, c_out, H, W): widen 1×1, depthwise 3×3, project 1×1; add the input if it fits."""

    def __init__(self, c_in: int, c_out: int) -> None:
        super().__init__()
        wide = 2 * c_in
        self.residual = c_in == c_out
        self.layers = nn.Sequential(
            ConvNormLReLU(c_in, wide, kernel=1, padding=NONE),
            ConvNormLReLU(wide, wide, groups=wide, bias=True),
            nn.Conv2d(wide, c_out, 1, bias=False),
            nn.GroupNorm(1, c_out),
        )

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layers(x)
        return x + y if self.residual else y


class Generator(nn.Module):
    """Photo in, anime picture out: (N, 3, H, W) RGB in [-1, 1] -> (N, 3, H, W) RGB in (-1, 1).

    With `align_corners` the two upsamplings return to the exact sizes met on the way down, so that any
    H, W >= 8 works. Without it they double, and H and W must be multiples of 4. Published checkpoints
    are in use with either setting; the manifest of a frozen style records which.
    """

    def __init__(self, align_corners: bool = True) -> None:
        super().__init__()
        self.align_corners = align_corners
        self.block_a = nn.Sequential(  # (N, 3, H, W) -> (N, 64, H/2, W/2)
            ConvNormLReLU(3, 32, kernel=7, padding=SAME_7),
            ConvNormLReLU(32, 64, stride=2, padding=DOWN),
            ConvNormLReLU(64, 64),
        )
        self.block_b = nn.Sequential(  # -> (N, 128, H/4, W/4)
            ConvNormLReLU(64, 128, stride=2, padding=DOWN),
            ConvNormLReLU(128, 128),
        )
        self.block_c = nn.Sequential(  # -> (N, 128, H/4, W/4), through 256 channels
            ConvNormLReLU(128, 128),
            InvertedResBlock(128, 256),
            InvertedResBlock(256, 256),
            InvertedResBlock(256, 256),
            InvertedResBlock(256, 256),
            ConvNormLReLU(256, 128),
        )
        self.block_d = nn.Sequential(  # at H/2, W/2
            ConvNormLReLU(128, 128),
            ConvNormLReLU(128, 128),
        )
        self.block_e = nn.Sequential(  # at H, W: -> (N, 32, H, W)
            ConvNormLReLU(128, 64),
            ConvNormLReLU(64, 64),
            ConvNormLReLU(64, 32, kernel=7, padding=SAME_7),
        )
        self.out_layer = nn.Sequential(nn.Conv2d(32, 3, 1, bias=False), nn.Tanh())  # -> (N, 3, H, W)

    def forward(self, x: Tensor) -> Tensor:
        full = self.block_e(self._upsample(self.at_half(x), x))
        picture: Tensor = self.out_layer(full)
        return picture

    def at_half(self, x: Tensor) -> Tensor:
        """All but the layers at full size: (N, 3, H, W) -> (N, 128, H/2, W/2)."""
        half = self.block_a(x)
        quarter = self.block_c(self.block_b(half))
        up: Tensor = self.block_d(self._upsample(quarter, half))
        return up

    def _upsample(self, x: Tensor, like: Tensor) -> Tensor:
        if self.align_corners:
            return F.interpolate(x, like.shape[-2:], mode="bilinear", align_corners=True)
        return F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
