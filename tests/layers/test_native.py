"""The native operators give torch's layers, and the generator through them the generator's pictures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from layers.model.generator import DOWN, NONE, SAME_3, SAME_7, Generator
from layers.model.native import Conv, Depthwise, Operators
from layers.model.operators import CPUINFO, able, library, loaded
from tests.factories import photo

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")

Threads = Callable[[int], None]
EPS = 1e-5
PADDING = {(1, 1): NONE, (3, 1): SAME_3, (3, 2): DOWN, (7, 1): SAME_7}


@pytest.fixture(autouse=True)
def operators() -> None:
    path = library()
    if path is None or not loaded(path):
        pytest.skip("no operators: `python -m layers.native.build` makes them, with a compiler and AVX-512")


@pytest.fixture
def threads() -> Iterator[Threads]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def channels_last(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1).contiguous()


def layer(c: int, n: int, kernel: int, stride: int, groups: int = 1) -> nn.Sequential:
    """Convolution, norm, leaky ReLU; weights that leave the size of values as it is."""
    conv = nn.Conv2d(c, n, kernel, stride, groups=groups, bias=groups > 1)
    norm = nn.GroupNorm(1, n)
    nn.init.normal_(conv.weight, std=(c // groups * kernel**2) ** -0.5)
    nn.init.normal_(norm.weight, 1, 0.5)
    nn.init.normal_(norm.bias, 0, 0.5)
    return nn.Sequential(conv, norm, nn.LeakyReLU(0.2)).eval()


def normalised(y: Tensor, norm: Tensor) -> Tensor:
    """What a reader makes of a layer's output: (1, H, W, C) -> (1, C, H, W)."""
    factor, summand, slope = norm
    through = y * factor + summand
    return torch.where(through > 0, through, through * slope).permute(0, 3, 1, 2)


def error(ours: Tensor, theirs: Tensor) -> float:
    return float((ours.double() - theirs).abs().max() / theirs.abs().max())


@pytest.mark.parametrize(
    ("kernel", "stride", "c", "n", "before", "after"),
    [
        (3, 1, 64, 64, (20, 24), None),
        (3, 1, 16, 32, (5, 300), None),  # more tiles than a block has, in one row
        (3, 1, 128, 64, (9, 13), (18, 26)),
        (3, 1, 128, 128, (9, 13), (17, 25)),  # neither a multiple of the tile nor twice the input
        (3, 1, 256, 128, (2, 2), None),
        (7, 1, 64, 32, (21, 85), None),
        (7, 1, 64, 32, (4, 4), None),
        (7, 1, 3, 32, (11, 130), None),
        (3, 2, 32, 64, (10, 14), None),
        (3, 2, 64, 128, (11, 250), None),
        (1, 1, 128, 256, (7, 9), None),
        (1, 1, 512, 256, (3, 120), None),
    ],
)
@pytest.mark.parametrize("align_corners", [True, False])
@torch.inference_mode()
def test_a_layer_is_torchs(
    kernel: int,
    stride: int,
    c: int,
    n: int,
    before: tuple[int, int],
    after: tuple[int, int] | None,
    align_corners: bool,
) -> None:
    theirs = layer(c, n, kernel, stride)
    norm = torch.empty(0) if c == 3 else torch.stack([random(c), random(c, seed=1), torch.full((c,), 0.2)])
    x = random(1, c, *before)
    height, width = after or before
    ours = normalised(*Conv(theirs, align_corners)(channels_last(x), norm, height, width))
    read = x.double() if c == 3 else normalised(channels_last(x).double(), norm.double())
    if after:
        read = F.interpolate(read, after, mode="bilinear", align_corners=align_corners)
    expected = theirs.double()(F.pad(read, PADDING[kernel, stride], mode="reflect"))
    assert ours.shape == expected.shape
    assert error(ours, expected) < 1e-5


def rounded(x: Tensor) -> Tensor:
    return x.float().bfloat16().double()


@pytest.fixture
def bfloat16() -> None:
    if not able("bfloat16", CPUINFO):
        pytest.skip("this processor does not multiply bfloat16")


def off_by(ours: Tensor, expected: Tensor) -> float:
    """The mean error, as a share of the mean value."""
    return float((ours.permute(0, 3, 1, 2) - expected).abs().mean() / expected.abs().mean())


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize(
    ("kernel", "stride", "c", "n", "before", "after"),
    [
        (3, 1, 128, 64, (9, 37), (18, 74)),
        (3, 1, 256, 128, (2, 2), None),
        (3, 1, 64, 32, (5, 300), None),
        (7, 1, 64, 32, (21, 45), None),
        (7, 1, 3, 32, (11, 130), None),
        (3, 2, 32, 64, (10, 14), None),
        (3, 2, 64, 128, (11, 70), None),
        (1, 1, 512, 256, (9, 40), None),
    ],
)
@torch.inference_mode()
def test_a_bfloat16_layer_is_torchs_of_rounded_factors(
    kernel: int, stride: int, c: int, n: int, before: tuple[int, int], after: tuple[int, int] | None
) -> None:
    """Products of bfloat16 are exact in float32, so what is left is the result's rounding, by up to 2^-9 of it.
    Winograd rounds sums of factors, which costs 1 to 2 %.
    """
    theirs, x = layer(c, n, kernel, stride), random(1, c, *before).bfloat16()
    # Exact, as far as they can be.
    norm = torch.empty(0) if c == 3 else torch.stack([torch.ones(c), torch.zeros(c), torch.full((c,), 0.5)])
    height, width = after or before
    ours, through = Conv(theirs, False)(channels_last(x), norm, height, width)
    assert ours.dtype == torch.bfloat16
    read = x.double() if c == 3 else normalised(channels_last(x).double(), norm)
    if after:
        read = F.interpolate(read, after, mode="bilinear", align_corners=False)
    theirs.get_parameter("0.weight").copy_(rounded(theirs.get_parameter("0.weight")))
    padded = F.pad(rounded(read), PADDING[kernel, stride], mode="reflect")
    expected = theirs.double()[0](padded)
    assert off_by(ours.double(), expected) < (0.025 if kernel > 1 and stride == 1 and c > 3 else 2**-9)
    assert (through.double() - statistics(theirs, expected)).abs().max() < 5e-3


def statistics(theirs: nn.Sequential, y: Tensor) -> Tensor:
    """(3, n): what normalises the layer's output, worked out by itself."""
    deviation = (y.var(correction=0) + EPS).sqrt()
    factor = theirs.get_parameter("1.weight") / deviation
    return torch.stack([factor, theirs.get_parameter("1.bias") - y.mean() * factor, torch.full_like(factor, 0.2)])


@pytest.mark.usefixtures("bfloat16")
@torch.inference_mode()
def test_bfloat16_pictures_are_close_to_the_generators() -> None:
    network, x = generator(True), photo(65, 87)
    error = (network(x) - frozen(network)(x.bfloat16())).abs()
    assert 1e-5 < error.mean() < 5e-3


@torch.inference_mode()
def test_a_depthwise_layer_is_torchs() -> None:
    theirs, x = layer(48, 48, 3, 1, groups=48), random(1, 48, 9, 37)
    norm = torch.stack([random(48), random(48, seed=1), torch.full((48,), 0.2)])
    ours = normalised(*Depthwise(theirs)(channels_last(x), norm))
    read = normalised(channels_last(x).double(), norm.double())
    assert error(ours, theirs.double()(F.pad(read, SAME_3, mode="reflect"))) < 1e-5


@torch.inference_mode()
def test_statistics_survive_a_mean_far_from_zero() -> None:
    """The variance is then the difference of two large numbers."""
    theirs = layer(16, 32, 1, 1)
    theirs.get_parameter("0.weight").fill_(1 / 16)
    x = random(1, 16, 64, 64) + 10  # 40 deviations of what comes out
    ours = normalised(*Conv(theirs, True)(channels_last(x), torch.empty(0), 64, 64))
    assert error(ours, theirs.double()(x.double())) < 1e-3


def generator(align_corners: bool) -> Generator:
    torch.manual_seed(3)
    made = Generator(align_corners).eval()
    for name, parameter in made.named_parameters():
        if name.endswith((".2.weight", ".2.bias")):  # else norms would be 1 and 0, and hide what is done with them
            nn.init.normal_(parameter, 0.5, 0.5)
    return made


def frozen(network: Generator) -> Callable[[Tensor], Tensor]:
    made: Callable[[Tensor], Tensor] = torch.jit.freeze(torch.jit.script(Operators(network).eval()))
    return made


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("size", [(32, 32), (64, 96), (36, 8), (8, 100)])
@torch.inference_mode()
def test_the_pictures_are_the_generators(align_corners: bool, size: tuple[int, int]) -> None:
    network, x = generator(align_corners), photo(*size)
    assert (network(x) - frozen(network)(x)).abs().max() < 3e-5


@torch.inference_mode()
def test_sizes_that_no_tile_divides_are_the_generators() -> None:
    network, x = generator(True), photo(65, 87)
    assert (network(x) - frozen(network)(x)).abs().max() < 3e-5


@torch.inference_mode()
def test_each_picture_of_a_batch_has_its_own_statistics() -> None:
    network, x = generator(True), torch.cat([photo(32, 32), photo(32, 32, seed=1) * 0.2])
    assert (network(x) - frozen(network)(x)).abs().max() < 3e-5


@pytest.mark.parametrize("align_corners", [True, False])
@torch.inference_mode()
def test_pictures_are_the_public_implementations(shared: Callable[[str], Path], align_corners: bool) -> None:
    network = Generator(align_corners).eval()
    network.load_state_dict(torch.load(shared("models/hayao_from_int8.pt"), weights_only=True))
    with np.load(shared("vectors/generator_parity.npz")) as vectors:
        x = torch.from_numpy(vectors["input_96x160"])
        expected = torch.from_numpy(vectors[f"output_96x160_align_corners_{align_corners}"])
    assert (frozen(network)(x) - expected).abs().max() < 1e-4


@torch.inference_mode()
def test_the_number_of_threads_changes_no_bit(threads: Threads) -> None:
    network = frozen(generator(True))
    pictures = []
    for count in (1, 2, 3):
        threads(count)
        pictures.append(network(photo(64, 96)))
    assert torch.equal(pictures[0], pictures[1])
    assert torch.equal(pictures[0], pictures[2])


def test_conversions_at_once_do_not_meet() -> None:
    network, photos = frozen(generator(True)), [photo(32, 64, seed=seed) for seed in range(4)]
    with torch.inference_mode():
        alone = [network(x) for x in photos]
    together: dict[int, Tensor] = {}

    def convert(i: int) -> None:
        with torch.inference_mode():
            together[i] = network(photos[i])

    running = [threading.Thread(target=convert, args=(i,)) for i in range(4)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert all(torch.equal(together[i], alone[i]) for i in range(4))


PHOTO = {"x": torch.zeros(1, 8, 8, 3), "kernel": 7, "weight": torch.zeros(49 * 3 * 32)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": torch.zeros(1, 8, 8, 24)}, "no picture of these sizes"),
        ({"x": torch.zeros(2, 8, 8, 32)}, r"contiguous \(1, H, W, C\)"),
        ({"x": torch.zeros(1, 8, 8, 32).double()}, "all of one type"),
        ({"x": torch.zeros(1, 8, 8, 64)[..., ::2]}, r"contiguous \(1, H, W, C\)"),
        ({"norm": torch.zeros(2, 32)}, "norm must be 96"),
        ({"weight": torch.zeros(10)}, "weight must be"),
        ({"gamma": torch.zeros(33), "beta": torch.zeros(33)}, "no multiple of 32"),
        ({"kernel": 5, "weight": torch.zeros(25 * 32 * 32)}, "no convolution 5×5"),
        ({"height": 0}, "no picture of these sizes"),
        ({"height": 7}, "no picture of these sizes"),  # only larger: the memory that it is resized in is as large
        ({"height": 2**32 + 8}, "no picture of these sizes"),  # 8, in an int
        ({"stride": 0}, "no convolution 3×3 of stride 0"),
        ({**PHOTO, "height": 16}, "no picture of these sizes"),
        ({**PHOTO, "norm": torch.zeros(9)}, "no picture of these sizes"),
    ],
)
def test_what_does_not_fit_is_named_instead_of_read_past_its_end(change: dict[str, object], said: str) -> None:
    arguments = {
        "x": torch.zeros(1, 8, 8, 32),
        "norm": torch.empty(0),
        "weight": torch.zeros(9 * 32 * 32),
        "gamma": torch.zeros(32),
        "beta": torch.zeros(32),
        **{"eps": EPS, "slope": 0.2, "kernel": 3, "stride": 1, "height": 8, "width": 8, "align_corners": True},
    }
    with pytest.raises(RuntimeError, match=said):
        torch.ops.animegan.conv(**{**arguments, **change})


def test_only_the_first_layer_takes_what_fills_no_line() -> None:
    photo, none = torch.zeros(1, 5, 5, 3), torch.empty(0)
    with pytest.raises(RuntimeError, match="no picture of these sizes"):
        torch.ops.animegan.add(photo, none, photo, none)
    with pytest.raises(RuntimeError, match="no picture of these sizes"):
        torch.ops.animegan.picture(photo, none, torch.zeros(9))
    with pytest.raises(RuntimeError, match="no picture of these sizes"):
        torch.ops.animegan.depthwise(photo, none, torch.zeros(27), *[torch.zeros(3)] * 3, EPS, 0.2)
