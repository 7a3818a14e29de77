"""The engines that are compared: each is a function from (1, 3, H, W) float32 to the same.

The rivals are what people would take instead: the network as it is published, traced, traced and frozen, compiled;
ONNX Runtime and OpenVINO on its ONNX export. What they need is imported when they are asked for: each runs in a
process of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Array = npt.NDArray[np.float32]
Network = Callable[[Array], Array]
Load = Callable[[Path, int], Network]  # the folder of inputs, threads

ONNX, CHECKPOINT, STYLES = "generator.onnx", "checkpoint.pt", "styles"
OPSET = 17


def prepare(folder: Path, checkpoint: Path, size: int, onnx: bool) -> None:
    """Put the same weights into `folder` in each engine's form. Raises ModelError, OSError."""
    import shutil

    from layers.model.freeze import freeze

    shutil.copy(checkpoint, folder / CHECKPOINT)
    freeze(checkpoint, "cel", folder / STYLES, licence="a benchmark's", source=checkpoint.name)
    if onnx:
        example = (torch.zeros(1, 3, size, size),)
        with warnings.catch_warnings():  # of constants that it cannot fold, and that it is deprecated
            warnings.simplefilter("ignore")
            torch.onnx.export(
                _published(folder), example, folder / ONNX, input_names=["x"], dynamo=False, opset_version=OPSET
            )


def _published(folder: Path) -> torch.nn.Module:
    from layers.model.checkpoint import load_checkpoint
    from layers.model.generator import Generator

    network = Generator()
    network.load_state_dict(load_checkpoint(folder / CHECKPOINT)[0])
    return network.eval()


def _of_torch(network: Any) -> Network:
    def run(x: Array) -> Array:
        with torch.inference_mode():
            y: Array = network(torch.from_numpy(x)).numpy()
        return y

    return run


def _traced(folder: Path) -> Any:
    return torch.jit.trace(_published(folder), torch.rand(1, 3, 256, 256))  # type: ignore[no-untyped-call]


def eager(folder: Path, threads: int) -> Network:
    """NCHW, as published."""
    return _of_torch(_published(folder))


def traced(folder: Path, threads: int) -> Network:
    return _of_torch(_traced(folder))


def traced_frozen(folder: Path, threads: int) -> Network:
    return _of_torch(torch.jit.freeze(_traced(folder)))


def compiled(folder: Path, threads: int) -> Network:
    """torch.compile, which needs a C++ compiler."""
    return _of_torch(torch.compile(_published(folder).to(memory_format=torch.channels_last)))  # type: ignore[call-overload]


def ours(precision: Any, kernel: Any = "auto") -> Load:
    """What the function runs."""

    def load(folder: Path, threads: int) -> Network:
        from handler.generator import Styles

        generator = Styles(folder / STYLES, precision, kernel).default("cel")

        def run(x: Array) -> Array:
            return generator(torch.from_numpy(x).to(memory_format=torch.channels_last)).numpy()

        return run

    return load


def onnxruntime(folder: Path, threads: int) -> Network:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(folder / ONNX), options, providers=["CPUExecutionProvider"])
    return lambda x: np.asarray(session.run(None, {"x": x})[0])


def openvino(precision: str) -> Load:
    def load(folder: Path, threads: int) -> Network:
        import openvino

        settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": precision}
        request = openvino.Core().compile_model(str(folder / ONNX), "CPU", settings).create_infer_request()
        return lambda x: np.array(request.infer({0: x})[0], np.float32)

    return load


ENGINES: dict[str, Load] = {
    "eager NCHW, as published": eager,
    "traced": traced,
    "traced, frozen": traced_frozen,
    "torch.compile": compiled,
    "ONNX Runtime": onnxruntime,
    "OpenVINO float32": openvino("f32"),
    "OpenVINO bfloat16": openvino("bf16"),
    "animegan float32": ours("float32"),
    "animegan float32, torch alone": ours("float32", "torch"),
    "animegan bfloat16": ours("bfloat16"),
}
NEEDS = {"ONNX Runtime": "onnxruntime", "OpenVINO float32": "openvino", "OpenVINO bfloat16": "openvino"}
OURS = ("animegan float32", "animegan float32, torch alone", "animegan bfloat16")
HARDWARE_BFLOAT16 = ("OpenVINO bfloat16", "animegan bfloat16")  # emulated, they would only be slow
REFERENCE = "eager NCHW, as published"
