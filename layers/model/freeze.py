"""Checkpoint -> frozen TorchScript and manifest.json, the data contract with the handler.

FreezeError                   (a ModelError, see registry.py)
├── CheckpointError           not this generator's weights: missing, misshapen or unexpected key, cut short,
│                             not a checkpoint at all, pickled code, values that are not finite
├── ParityError               a frozen module's pictures are too far from the eager generator's
└── StyleNameError            the name cannot be a directory's

TorchScript is deprecated in favour of torch.export; script, freeze, save and load each warn of it. We stay: a
frozen module loads without Python source, takes any size, and there is no compiler on the image. The warnings
are silenced by message, around these calls alone, and the manifest's `torch` says what froze a style.
"""

from __future__ import annotations

import copy
import errno
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch import Tensor

from layers.model.generator import Generator
from layers.model.registry import Manifest, ModelError, Module, Style, sha256

Network = Callable[[Tensor], Tensor]
Size = tuple[int, int]  # height, width

# The last of each is no multiple of 32; without align_corners a side must still be one of 4.
SIZES: Mapping[bool, tuple[Size, ...]] = {
    True: ((64, 64), (96, 160), (65, 87)),
    False: ((64, 64), (96, 160), (68, 92)),
}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}

# float32: frozen and channels-last reorder sums, no more; trained weights give up to 8e-6.
MAX_ABS_ERROR = 1e-4
# bfloat16 keeps 8 significant bits: rounding the output alone costs up to 0.002 near ±1, and trained weights
# give 0.003 on average, under half a grey level of 255. 0.03, four levels, is where a difference begins to show.
# The maximum is recorded but no gate: one pixel on a hard edge may swing far without anyone seeing it.
MEAN_ABS_ERROR = 0.03


class FreezeError(ModelError):
    """A style that cannot be frozen; nothing was written."""


class CheckpointError(FreezeError):
    """The file does not hold this generator's weights."""


class ParityError(FreezeError):
    """The frozen module does not do what the eager generator does."""


class StyleNameError(FreezeError):
    """A name that cannot be a style's directory."""


def freeze(
    checkpoint: Path,
    style: str,
    out: Path,
    *,
    licence: str,
    source: str,
    align_corners: bool = True,
    title: str | None = None,
) -> Manifest:
    """Freeze `checkpoint` into `out/style/`: float32.pt, bfloat16.pt and manifest.json, all of them or none.

    Both modules take and give (N, 3, H, W) RGB in [-1, 1] in their own dtype and run fastest on channels-last
    input; `size_multiple` of the manifest is what H and W should be padded to. A style already there is
    replaced, unless it is the same. Raises CheckpointError, ParityError, StyleNameError, OSError.
    """
    if not re.fullmatch(r"[A-Za-z0-9][\w-]{0,63}", style, re.ASCII):
        raise StyleNameError(f"{style!r} cannot name a style: use letters, digits, - and _, at most 64")
    weights, digest = load_checkpoint(checkpoint)
    generator = Generator(align_corners)
    generator.load_state_dict(weights)
    generator.eval()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{style}.", dir=out) as aside:
        staged = Path(aside, "new")
        staged.mkdir()
        manifest = Manifest(
            style=style,
            title=title or style,
            licence=licence.strip(),
            source=source,
            checkpoint_sha256=digest,
            align_corners=align_corners,
            torch=str(torch.__version__),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            modules={name: _freeze_module(generator, name, staged) for name in DTYPES},
        )
        manifest.write(staged)
        return _publish(staged, out / style, manifest)


def freeze_style(style: Style, checkpoint: Path | None, out: Path) -> Manifest:
    """`freeze` with what the registry says about `style`. Raises as `freeze` does."""
    if checkpoint is None:
        raise CheckpointError(f"{style.name} has no checkpoint here: run `animegan pull {style.name}`")
    return freeze(
        checkpoint,
        style.name,
        out,
        licence=style.licence,
        source=style.url or style.source,
        align_corners=style.align_corners,
        title=style.title,
    )


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], str]:
    """The float32 weights in a file as published or as training saved it, and the file's SHA-256.

    Takes a bare state dict or one under "state_dict", keys with or without "module.", any float dtype. Only
    tensors are unpickled, never code. Raises CheckpointError, which names the first key that is wrong.
    """
    try:
        digest = sha256(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}): check the path") from error
    except (EOFError, RuntimeError, ValueError, KeyError, pickle.UnpicklingError) as error:
        raise CheckpointError(f"{path} {_why_unreadable(error)}") from error
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
        elif not value.isfinite().all():
            yield f"{key} has values that are not finite: take an earlier checkpoint, training diverged"
    yield from (f"the first unexpected key is {key}" for key in weights if key not in shapes)


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


def _freeze_module(generator: Generator, name: str, into: Path) -> Module:
    path = into / f"{name}.pt"
    dtype = DTYPES[name]
    # Channels-last weights keep their strides as constants, so no convolution reorders them at run time.
    network = copy.deepcopy(generator).to(dtype)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # absent from torch's stub
    with _torchscript(), torch.no_grad():
        torch.jit.save(torch.jit.freeze(torch.jit.script(network)), path)
        # What is measured is the file, since that is what will be served.
        frozen = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
    worst, mean = measure(generator, frozen, dtype, SIZES[generator.align_corners])
    check_parity(name, worst, mean)
    return Module(path.name, sha256(path), worst, mean)


def measure(
    eager: Network, frozen: Network, dtype: torch.dtype, sizes: Iterable[Size]
) -> tuple[dict[str, float], dict[str, float]]:
    """Maximum and mean absolute error per size `HxW`, outputs in [-1, 1], on seeded uniform noise."""
    worst: dict[str, float] = {}
    mean: dict[str, float] = {}
    seeded = torch.Generator().manual_seed(0)
    for height, width in sizes:
        photo = torch.rand(1, 3, height, width, generator=seeded) * 2 - 1
        cast = photo.to(dtype=dtype, memory_format=torch.channels_last)
        with torch.inference_mode():
            frozen(cast)  # the first call only profiles; the plan that serves comes after
            error = (eager(photo) - frozen(cast).float()).abs()
        worst[f"{height}x{width}"], mean[f"{height}x{width}"] = error.max().item(), error.mean().item()
    return worst, mean


def check_parity(name: str, worst: Mapping[str, float], mean: Mapping[str, float]) -> None:
    """Raise ParityError where module `name` (float32 or bfloat16) is over its bound, or not a number."""
    kind, bound, errors = (
        ("maximum", MAX_ABS_ERROR, worst) if name == "float32" else ("mean", MEAN_ABS_ERROR, mean)
    )
    for size, error in errors.items():
        if not error <= bound:  # not `>`, which lets NaN pass
            raise ParityError(
                f"the frozen {name} module differs from the eager generator at {size}: {kind} absolute error "
                f"{error:.2g}, over {bound:g}. Nothing was written; check the weights, then try another torch"
            )


def _publish(staged: Path, target: Path, manifest: Manifest) -> Manifest:
    """Rename `staged` to `target`: readers find the old style or the new one, never a mixture.

    rename(2) replaces no directory that has something in it, so an old style is moved aside first. One that
    another process has just frozen from the same checkpoint stays: its readers must not see it vanish.
    """
    for attempt in range(100):
        try:
            staged.rename(target)
            return manifest
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        if manifest.same_work(standing := Manifest.read(target)) and standing:
            return standing
        with suppress(FileNotFoundError):  # another process has moved it already
            target.rename(staged.with_name(f"old-{attempt}"))
    raise FreezeError(f"{target} is being replaced by others without end: stop them and run this again")


@contextmanager
def _torchscript() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"`torch\.jit\.\w+` is deprecated", DeprecationWarning)
        yield
