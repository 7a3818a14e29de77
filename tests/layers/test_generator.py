"""The network against a published checkpoint's keys and the public implementation's outputs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from layers.model.checkpoint import expected_shapes, load_checkpoint
from layers.model.freeze import freeze
from layers.model.generator import Generator
from tests.factories import photo, weights

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")

Shared = Callable[[str], Path]
TOLERANCE = 1e-4
VECTORS = [
    ("64x64", True),
    ("64x64", False),
    ("96x160", True),
    ("96x160", False),
    ("65x87", True),  # without align_corners the sides must be multiples of 4
    ("128x33", True),
]


@pytest.fixture(scope="module")
def published(shared: Shared) -> Path:
    return shared("models/hayao_from_int8.pt")


@pytest.fixture(scope="module", params=[True, False], ids=["corners", "no-corners"])
def align_corners(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def eager(published: Path) -> dict[bool, Generator]:
    def load(align_corners: bool) -> Generator:
        generator = Generator(align_corners)
        generator.load_state_dict(torch.load(published, weights_only=True))  # as it is, nothing renamed
        return generator.eval()

    return {align_corners: load(align_corners) for align_corners in (True, False)}


@pytest.fixture(scope="module")
def frozen(published: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, torch.jit.ScriptModule]:
    out = tmp_path_factory.mktemp("published")

    def load(align_corners: bool) -> torch.jit.ScriptModule:
        name = f"hayao_{align_corners}"
        freeze(published, name, out, licence="non-commercial", source="shared", align_corners=align_corners)
        module: torch.jit.ScriptModule = torch.jit.load(out / name / "float32.pt")  # type: ignore[no-untyped-call]
        return module

    return {align_corners: load(align_corners) for align_corners in (True, False)}


@pytest.fixture(scope="module")
def vectors(shared: Shared) -> dict[str, Tensor]:
    with np.load(shared("vectors/generator_parity.npz")) as file:
        return {name: torch.from_numpy(file[name]) for name in file.files}


def test_keys_and_shapes_and_their_order_are_the_published_ones(shared: Shared) -> None:
    published = json.loads(shared("vectors/state_dict_shapes.json").read_text())
    assert list(expected_shapes().items()) == list(published.items())


def test_the_generator_has_2_143_552_parameters() -> None:
    assert sum(weight.numel() for weight in Generator().parameters()) == 2_143_552


def test_the_vectors_are_those_that_are_tested(vectors: dict[str, Tensor]) -> None:
    recorded = {name.removeprefix("output_") for name in vectors if name.startswith("output_")}
    assert recorded == {f"{size}_align_corners_{corners}" for size, corners in VECTORS}


@pytest.mark.parametrize(("size", "corners"), VECTORS)
def test_eager_outputs_are_the_public_implementations(
    size: str, corners: bool, eager: dict[bool, Generator], vectors: dict[str, Tensor]
) -> None:
    with torch.inference_mode():
        picture = eager[corners](vectors[f"input_{size}"])
    expected = vectors[f"output_{size}_align_corners_{corners}"]
    assert picture.shape == expected.shape
    assert (picture - expected).abs().max().item() <= TOLERANCE


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(("size", "corners"), VECTORS)
def test_frozen_outputs_are_the_public_implementations(
    size: str,
    corners: bool,
    layout: torch.memory_format,
    frozen: dict[bool, torch.jit.ScriptModule],
    vectors: dict[str, Tensor],
) -> None:
    expected = vectors[f"output_{size}_align_corners_{corners}"]
    with torch.inference_mode():
        for _ in range(3):  # profiled, optimised, as served
            picture = frozen[corners](vectors[f"input_{size}"].to(memory_format=layout))
            assert (picture - expected).abs().max().item() <= TOLERANCE


def test_load_checkpoint_gives_the_published_weights_unchanged(published: Path) -> None:
    loaded, _ = load_checkpoint(published)
    for key, value in torch.load(published, weights_only=True).items():
        assert torch.equal(loaded[key], value), key


@pytest.mark.parametrize("size", [(8, 8), (8, 13), (9, 8), (11, 10), (31, 64), (33, 29)])
def test_any_size_from_8_pixels_comes_back_with_align_corners(size: tuple[int, int]) -> None:
    with torch.inference_mode():
        picture = Generator(align_corners=True)(photo(*size))
    assert picture.shape == (1, 3, *size)
    assert picture.abs().max() < 1


@pytest.mark.parametrize("size", [(8, 8), (12, 20), (32, 36)])
def test_multiples_of_4_come_back_without_align_corners(size: tuple[int, int]) -> None:
    with torch.inference_mode():
        assert Generator(align_corners=False)(photo(*size)).shape == (1, 3, *size)


def test_pictures_of_a_batch_do_not_influence_each_other() -> None:
    generator = Generator().eval()
    generator.load_state_dict(weights())
    one, other = photo(seed=1), photo(seed=2)
    with torch.inference_mode():
        both = generator(torch.cat([one, other]))
        torch.testing.assert_close(both, torch.cat([generator(one), generator(other)]), atol=1e-5, rtol=0)


def test_the_scripted_generator_is_the_eager_one(align_corners: bool) -> None:
    generator = Generator(align_corners).eval()
    generator.load_state_dict(weights())
    scripted = torch.jit.script(generator)
    with torch.inference_mode():
        torch.testing.assert_close(scripted(photo(40, 52)), generator(photo(40, 52)), atol=1e-5, rtol=0)
