"""The generator in strips makes the generator's pictures."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from layers.model import strips
from layers.model.generator import Generator
from layers.model.strips import Strips, upsampled

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")


@pytest.fixture(autouse=True)
def short_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several strips in small pictures too, the last of them shorter."""
    monkeypatch.setattr(strips, "STRIP_BYTES", 1)
    monkeypatch.setattr(strips, "LEAST_ROWS", 5)


def generator(align_corners: bool) -> Generator:
    torch.manual_seed(3)
    made = Generator(align_corners).eval()
    for name, parameter in made.named_parameters():
        if name.endswith((".2.weight", ".2.bias")):  # else norms would be 1 and 0, and hide what is done with them
            torch.nn.init.normal_(parameter, 0.5, 0.5)
    return made


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("size", [(32, 32), (64, 96), (36, 8), (8, 100)])
@torch.inference_mode()
def test_strips_leave_no_trace(align_corners: bool, size: tuple[int, int]) -> None:
    network = generator(align_corners)
    scripted = torch.jit.freeze(torch.jit.script(Strips(copy.deepcopy(network)).eval()))
    photo = torch.rand(1, 3, *size) * 2 - 1
    assert (network(photo) - scripted(photo)).abs().max() < 2e-5


@torch.inference_mode()
def test_each_picture_of_a_batch_has_its_own_statistics() -> None:
    network = generator(True)
    photos = torch.cat([torch.rand(1, 3, 32, 32) * 2 - 1, torch.rand(1, 3, 32, 32) * 0.2])
    assert (network(photos) - Strips(copy.deepcopy(network)).eval()(photos)).abs().max() < 2e-5


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize(("first", "last"), [(0, 20), (0, 1), (19, 20), (7, 13)])
def test_rows_of_an_upsampled_picture_are_those_of_the_whole(align_corners: bool, first: int, last: int) -> None:
    small = torch.rand(1, 4, 10, 7)
    whole = F.interpolate(small, (20, 14), mode="bilinear", align_corners=align_corners)
    rows = upsampled(small, first, last, 20, 14, align_corners)
    assert torch.allclose(rows, whole[:, :, first:last], atol=1e-6)


# Every tensor is a mapping of its own and gone when it is freed, so the peak is what the network holds.
TIDY = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000", "OMP_NUM_THREADS": "1"}
PEAK = """
import torch
from pathlib import Path

def peak():
    # In KiB. Not ru_maxrss, which begins with what the parent process had.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

from layers.model.generator import Generator
from layers.model.strips import Strips
network = Generator().eval().to(memory_format=torch.channels_last)
network = {wrapped}
photo = torch.rand(1, 3, 512, 512).to(memory_format=torch.channels_last)
torch.set_num_threads(1)
before = peak()
with torch.inference_mode():
    network(photo)
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says how much memory a process had")
def test_strips_need_less_than_two_thirds_of_the_memory() -> None:
    plain, in_strips = (
        int(subprocess.check_output([sys.executable, "-c", PEAK.format(wrapped=wrapped)], env=TIDY))
        for wrapped in ("network", "Strips(network)")
    )
    assert in_strips < plain * 2 / 3
