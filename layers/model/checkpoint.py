"""A checkpoint file -> the generator's float32 weights, or the reason why it does not hold them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from layers.model.errors import CheckpointError
from layers.model.generator import Generator
from layers.model.manifest import sha256


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], str]:
    """The float32 weights in a file as published or as training saved it, and the file's SHA-256.

    Takes a bare state dict or one under "state_dict", keys with or without "module.", any float dtype. Only
    tensors are unpickled, never code. Raises CheckpointError, which names the first key that is wrong.
    """
    content, digest = _read(path)
    if isinstance(content, Mapping) and isinstance(content.get("state_dict"), Mapping):
        content = content["state_dict"]
    if not isinstance(content, Mapping):
        raise CheckpointError(f"{path} holds a {type(content).__name__}, not a state dict: save state_dict()")
    weights = {str(key).removeprefix("module."): value for key, value in content.items()}
    for problem in _problems(weights):
        raise CheckpointError(f"{path} does not fit the AnimeGANv2 generator: {problem}")
    return {key: value.float() for key, value in weights.items()}, digest


def expected_shapes() -> dict[str, list[int]]:
    """Key -> shape of every weight, in the published order."""
    with torch.device("meta"):
        return {key: list(value.shape) for key, value in Generator().state_dict().items()}


def _read(path: Path) -> tuple[object, str]:
    try:
        digest = sha256(path)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}): check the path") from error
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*looks like a TorchScript archive", UserWarning)
            return torch.load(path, map_location="cpu", weights_only=True), digest
    except Exception as error:  # damage surfaces anywhere in the unpickler: IndexError, struct.error, OSError …
        raise CheckpointError(f"{path} {_why_unreadable(error)}") from error


def _why_unreadable(error: Exception) -> str:
    if code := re.search(r"GLOBAL (\w[\w.]*)", str(error)):
        return f"holds pickled code ({code[1]}), which is never run: save only the generator's state_dict()"
    if "TorchScript" in str(error):
        return "is a TorchScript archive, perhaps frozen already: give the checkpoint it was made from"
    key, shape = next(iter(expected_shapes().items()))
    return (
        "is cut short or not a PyTorch checkpoint, and nothing in it can be read: "
        f"the first missing key is {key} (expected {shape}). Download or copy the file again"
    )


def _problems(weights: Mapping[str, object]) -> Iterator[str]:
    shapes = expected_shapes()
    for key, shape in shapes.items():
        value = weights.get(key)
        if not isinstance(value, Tensor):
            yield f"the first missing key is {key} (expected {shape})"
        elif list(value.shape) != shape:
            yield f"the first misshapen key is {key} (expected {shape}, found {list(value.shape)})"
        elif not value.is_floating_point():
            yield f"{key} is {value.dtype}, not floating point: dequantise it first"
        elif value.layout is not torch.strided or value.is_meta:
            yield f"{key} is sparse or has no values: save dense tensors from a CPU"
        elif not value.float().isfinite().all():  # float8 has no isfinite of its own
            yield f"{key} has values that are not finite: take an earlier checkpoint, training diverged"
    yield from (f"the first unexpected key is {key}" for key in weights if key not in shapes)
