"""A random start that lets colours through.

One group of GroupNorm centres and scales all channels together. In a deep stack of them two things go wrong:

- The first layer has no bias, so it is blind to contrast: x and x/2 give the same picture, unless the variance is
  small beside GroupNorm's eps. We train with a large eps there and fold it into small weights afterwards.
- Each channel's mean survives and grows from layer to layer, until colours are a hundredth of what arrives at the
  last one, and are not learned. So the start is set from data, as Salimans & Kingma do (2016).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from layers.model.generator import Generator

FIRST = "block_a.0.1.weight"
FIRST_EPS = 1.0
NOISE = 0.2  # PyTorch's own random weights' share
CHROMA = 3.0  # photos vary less in colour than in light: what the first layer makes of it
SPREAD = 0.5  # of the first norm's bias, the measure by which later layers can tell contrast
OFFSET = 1.0  # channel means in standard deviations: most values pass the leaky ReLU's straight side


def start(seed: int, photo: Tensor, target: Tensor) -> Generator:
    """A random generator, its norms and its output layer fitted to a batch (N, 3, H, W) of photos and renders."""
    torch.manual_seed(seed)
    network = Generator(align_corners=True)
    first_norm(network).eps = FIRST_EPS
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d) and layer.stride == (1, 1):
            _pass_through(layer)
    _balance_colours(network.get_parameter(FIRST))
    features: list[Tensor] = []
    hooks = [m.register_forward_hook(_centre) for m in network.modules() if isinstance(m, nn.GroupNorm)]
    hooks.append(network.block_e.register_forward_hook(lambda _m, _i, out: features.append(out)))
    with torch.no_grad():
        network(photo)
        network.get_parameter("out_layer.0.weight").copy_(_readout(features[0], target))
    for hook in hooks:
        hook.remove()
    return network


def first_norm(network: Generator) -> nn.GroupNorm:
    """The GroupNorm after the first convolution."""
    norm = network.get_submodule("block_a.0.2")
    assert isinstance(norm, nn.GroupNorm)
    return norm


def fold(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights trained with FIRST_EPS -> weights that do the same in a plain generator."""
    # Scaling the weights by s is the same as dividing eps by s².
    return state | {FIRST: state[FIRST] * math.sqrt(first_norm(Generator()).eps / FIRST_EPS)}


@torch.no_grad()
def _pass_through(layer: nn.Conv2d) -> None:
    """Delta-orthogonal weights (Xiao et al. 2018) and a little noise."""
    middle = layer.kernel_size[0] // 2
    through = torch.ones(layer.weight.shape[:2])
    if layer.groups == 1:
        nn.init.orthogonal_(through)
    layer.weight.mul_(NOISE)
    layer.weight[:, :, middle, middle] += through


@torch.no_grad()
def _balance_colours(weight: Tensor) -> None:
    grey = torch.full((3, 3), 1 / 3)
    weight.copy_(torch.einsum("oikl,ij->ojkl", weight, grey + CHROMA * (torch.eye(3) - grey)))


def _centre(norm: nn.Module, _: tuple[Tensor, ...], out: Tensor) -> Tensor:
    """Make each channel's mean OFFSET and its deviation 1 over the batch; the same to `out`."""
    assert isinstance(norm, nn.GroupNorm)
    mean, deviation = out.mean((0, 2, 3)), out.std((0, 2, 3))
    offset = OFFSET + SPREAD * torch.randn(len(mean)) * (norm.eps == FIRST_EPS)
    norm.weight.div_(deviation)
    norm.bias.sub_(mean).div_(deviation).add_(offset)
    scaled = (out - mean[:, None, None]) / deviation[:, None, None]
    return scaled + offset[:, None, None]


def _readout(features: Tensor, target: Tensor) -> Tensor:
    """(N, C, H, W) -> weights (3, C, 1, 1) of the ridge regression on what tanh must turn into `target`."""
    x, y = (t.transpose(0, 1).flatten(1) for t in (features, target.clamp(-0.97, 0.97).atanh()))
    gram = x @ x.T / x.shape[1] + 0.1 * torch.eye(len(x))
    weights: Tensor = torch.linalg.solve(gram, x @ y.T / x.shape[1])
    return weights.T[:, :, None, None]
