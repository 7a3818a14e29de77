"""Checkpoints as they are found in the wild, whole and broken."""

from __future__ import annotations

import io
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from layers.model.checkpoint import load_checkpoint
from layers.model.errors import CheckpointError
from tests.factories import weights

FIRST = r"block_a\.0\.1\.weight \(expected \[32, 3, 7, 7\]"
Weights = dict[str, Tensor]

VARIANTS: dict[str, Callable[[Weights], object]] = {
    "bare": lambda bare: bare,
    "state_dict": lambda bare: {"state_dict": bare, "epoch": 7},
    "module": lambda bare: {f"module.{key}": value for key, value in bare.items()},
    "state_dict and module": lambda bare: {"state_dict": {f"module.{key}": value for key, value in bare.items()}},
    "half": lambda bare: {key: value.half() for key, value in bare.items()},
    "bfloat16": lambda bare: {key: value.bfloat16() for key, value in bare.items()},
    "double": lambda bare: {key: value.double() for key, value in bare.items()},
    "parameters": lambda bare: {key: torch.nn.Parameter(value) for key, value in bare.items()},
    "views of larger storage": lambda bare: {
        key: torch.stack([value, value], -1)[..., 0] for key, value in bare.items()
    },
    "another order": lambda bare: dict(reversed(bare.items())),
}
ROUNDED = {"half": torch.float16, "bfloat16": torch.bfloat16}


def saved(content: object, path: Path, zipped: bool = True) -> Path:
    torch.save(content, path, _use_new_zipfile_serialization=zipped)
    return path


def changed(**values: object) -> dict[str, Any]:
    """Good weights but for some keys, written with _ for the dot; None leaves a key out."""
    wrong = {key.replace("__", "."): value for key, value in values.items()}
    return {key: value for key, value in {**weights(), **wrong}.items() if value is not None}


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before-1.6"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_checkpoint_loads_in_every_form_people_have(variant: str, zipped: bool, tmp_path: Path) -> None:
    path = saved(VARIANTS[variant](weights()), tmp_path / "x.pt", zipped)
    loaded, _ = load_checkpoint(path)
    assert loaded.keys() == weights().keys()
    for key, value in weights().items():
        assert loaded[key].dtype is torch.float32
        assert torch.equal(loaded[key], value.to(ROUNDED.get(variant, torch.float32)).float()), key


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            lambda: changed(block_c__0__1__weight=None, block_d__0__1__weight=None),
            r"first missing key is block_c\.0\.1\.weight \(expected \[128, 128, 3, 3\]\)",
            id="missing",
        ),
        pytest.param(
            lambda: changed(block_b__1__2__bias=torch.zeros(64), out_layer__0__weight=torch.zeros(3)),
            r"first misshapen key is block_b\.1\.2\.bias \(expected \[128\], found \[64\]\)",
            id="misshapen",
        ),
        pytest.param(lambda: changed(fc__weight=torch.zeros(1)), r"first unexpected key is fc\.weight", id="more"),
        pytest.param(dict, rf"first missing key is {FIRST}", id="empty dict"),
        pytest.param(lambda: {"generator": weights()}, rf"first missing key is {FIRST}", id="wrapped otherwise"),
        pytest.param(lambda: {"state_dict": {}}, rf"first missing key is {FIRST}", id="empty state_dict"),
        pytest.param(lambda: changed(block_a__0__1__weight="text"), rf"missing key is {FIRST}", id="text value"),
        pytest.param(lambda: [1, 2], "holds a list, not a state dict", id="list"),
        pytest.param(lambda: torch.zeros(3), "holds a Tensor, not a state dict", id="tensor"),
        pytest.param(lambda: None, "holds a NoneType, not a state dict", id="nothing"),
        pytest.param(
            lambda: changed(block_a__0__2__bias=torch.zeros(32, dtype=torch.int8)),
            r"block_a\.0\.2\.bias is torch\.int8, not floating point",
            id="integers",
        ),
        pytest.param(
            lambda: changed(block_a__0__2__bias=torch.zeros(32, dtype=torch.complex64)),
            r"block_a\.0\.2\.bias is torch\.complex64, not floating point",
            id="complex",
        ),
        pytest.param(
            lambda: changed(block_a__0__2__bias=torch.ones(32).to_sparse()),
            r"block_a\.0\.2\.bias is sparse",
            id="sparse",
        ),
        pytest.param(
            lambda: changed(block_a__0__2__bias=torch.ones(32, device="meta")),
            r"block_a\.0\.2\.bias is sparse or has no values",
            id="meta",
        ),
        pytest.param(
            lambda: changed(block_e__2__1__weight=torch.full((32, 64, 7, 7), torch.nan)),
            r"block_e\.2\.1\.weight has values that are not finite",
            id="nan",
        ),
        pytest.param(
            lambda: changed(block_a__0__2__bias=torch.full((32,), 1e300, dtype=torch.float64)),
            r"block_a\.0\.2\.bias has values that are not finite",
            id="over float32",
        ),
    ],
)
def test_other_weights_are_refused_with_the_first_key_that_is_wrong(
    content: Callable[[], object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(CheckpointError, match=message):
        load_checkpoint(saved(content(), tmp_path / "x.pt"))


def test_float8_weights_load(tmp_path: Path) -> None:
    bias = torch.tensor([0.5] * 32)
    path = saved(changed(block_a__0__2__bias=bias.to(torch.float8_e4m3fn)), tmp_path / "x.pt")
    assert torch.equal(load_checkpoint(path)[0]["block_a.0.2.bias"], bias)


@pytest.mark.parametrize("kept", [0, 1, 2, 3, 4, 10, 1000, 5000, 0.1, 0.5, 0.9, -1000, -22, -1])
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before-1.6"])
def test_a_truncated_checkpoint_names_the_first_missing_key(kept: float, zipped: bool, tmp_path: Path) -> None:
    path = saved(weights(), tmp_path / "x.pt", zipped)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if 0 < kept < 1 else int(kept)])
    with pytest.raises(CheckpointError, match=rf"cut short .*first missing key is {FIRST}"):
        load_checkpoint(path)


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "before-1.6"])
def test_a_damaged_checkpoint_loads_or_is_refused_and_nothing_else(zipped: bool, tmp_path: Path) -> None:
    path = saved(weights(), tmp_path / "x.pt", zipped)
    whole, chance = path.read_bytes(), random.Random(148)
    for _ in range(25):
        damaged = bytearray(whole)
        for _ in range(3):  # the pickle is at the start, the zip's directory at the end
            damaged[chance.choice([chance.randrange(6000), -1 - chance.randrange(12000)])] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            load_checkpoint(path)
        except CheckpointError as error:
            assert str(path) in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "content",
    [b"Not Found\n", "weights, überall\n".encode(), b"<!DOCTYPE html><html></html>", b"PK\x03\x04 and no more"],
)
def test_a_file_of_another_kind_is_no_checkpoint(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"not a PyTorch checkpoint.*{FIRST}"):
        load_checkpoint(tmp_path / "x.pt")


def test_a_file_that_is_absent_or_a_directory_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.pt"):
        with pytest.raises(CheckpointError, match=rf"{path} cannot be read"):
            load_checkpoint(path)


def test_a_frozen_module_is_recognised(frozen_styles: Path) -> None:
    with pytest.raises(CheckpointError, match="is a TorchScript archive, perhaps frozen already"):
        load_checkpoint(frozen_styles / "cel" / "float32.pt")


class Trap:
    """Makes a directory when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("form", ["plain pickle", "zip", "before-1.6"])
def test_pickled_code_is_named_and_never_run(form: str, tmp_path: Path) -> None:
    content = {**weights(), "extra": Trap(tmp_path / "sprung")}
    path = tmp_path / "x.pt"
    if form == "plain pickle":
        path.write_bytes(pickle.dumps({"extra": Trap(tmp_path / "sprung")}, protocol=2))
    else:
        saved(content, path, form == "zip")
    with pytest.raises(CheckpointError, match=r"holds pickled code \(\w*\.?mkdir\), which is never run"):
        load_checkpoint(path)
    assert not (tmp_path / "sprung").exists()
    if form == "plain pickle":  # the trap is live: whoever does unpickle it springs it
        pickle.load(io.BytesIO(path.read_bytes()))
    else:
        torch.load(path, weights_only=False)
    assert (tmp_path / "sprung").is_dir()
