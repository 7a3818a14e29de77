"""Checkpoint -> frozen TorchScript and manifest.json, the data contract with the handler.

TorchScript is deprecated in favour of torch.export; script, freeze, save and load each warn of it. We stay: a
frozen module loads without Python source, takes any size, and there is no compiler on the image. The warnings
are silenced by message, around these calls alone, and the manifest's `torch` says what froze a style.
"""

from __future__ import annotations

import copy
import errno
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch import nn

from layers.model.checkpoint import load_checkpoint
from layers.model.errors import CheckpointError, FreezeError, StyleNameError
from layers.model.generator import Generator
from layers.model.manifest import FACE_SIZE, Manifest, Module, Native, sha256
from layers.model.native import Operators
from layers.model.operators import CPUINFO, NEEDS, able, library, loaded
from layers.model.parity import SIZES, check_parity, measure
from layers.model.registry import Style
from layers.model.strips import Strips

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
IN_STRIPS = ("float32",)  # the others fit into memory as they are, and are faster so


def freeze(
    checkpoint: Path,
    style: str,
    out: Path,
    *,
    licence: str,
    source: str,
    align_corners: bool = True,
    title: str | None = None,
    face_size: int = FACE_SIZE,
) -> Manifest:
    """Freeze `checkpoint` into `out/style/`: float32.pt, bfloat16.pt and manifest.json, all of them or none.

    Where the operators of layers/native are built, native.pt and their library are there too. All modules take and
    give (N, 3, H, W) RGB in [-1, 1] in their own dtype and run fastest on channels-last input; `size_multiple` of
    the manifest is what H and W should be padded to. A style already there is replaced, unless it is the same.
    Raises CheckpointError, ParityError, StyleNameError, OSError.
    """
    if not re.fullmatch(r"[A-Za-z0-9][\w-]{0,63}", style, re.ASCII):
        raise StyleNameError(f"{style!r} cannot name a style: use letters, digits, - and _, at most 64")
    weights, digest = load_checkpoint(checkpoint)
    generator = Generator(align_corners)
    generator.load_state_dict(weights)
    generator.eval()
    out.mkdir(parents=True, exist_ok=True)
    operators = library()
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
            native=_freeze_native(generator, operators, staged),
            operators=sha256(operators) if operators else None,
            face_size=face_size,
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
        source=style.origin,
        align_corners=style.align_corners,
        title=style.title,
        face_size=style.face_size,
    )


def _freeze_module(generator: Generator, name: str, into: Path) -> Module:
    dtype = DTYPES[name]
    own = copy.deepcopy(generator)
    network: nn.Module = Strips(own).eval() if name in IN_STRIPS else own.to(dtype)
    # Channels-last weights keep their strides as constants, so no convolution reorders them at run time.
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # absent from torch's stub
    return _measured(_save(network, into / f"{name}.pt"), generator, name)


def _freeze_native(generator: Generator, operators: Path | None, into: Path) -> Native | None:
    """A copy of the library goes with what was measured with it: another one may want weights in another order."""
    if operators is None or not loaded(operators):
        return None
    copied = Path(shutil.copy(operators, into))
    path = _save(Operators(generator).eval(), into / "native.pt")
    measured = [name for name in DTYPES if able(name, CPUINFO)]  # one file: it goes by its input's dtype
    modules = {name: _measured(path, generator, name) for name in measured}
    return Native(modules, {name: NEEDS[name] for name in modules}, copied.name, sha256(copied))


def _save(network: nn.Module, path: Path) -> Path:
    with _torchscript(), torch.no_grad():
        torch.jit.save(torch.jit.freeze(torch.jit.script(network)), path)
    return path


def _measured(path: Path, generator: Generator, name: str) -> Module:
    """Of the file, since that is what will be served. Raises ParityError."""
    with _torchscript():
        frozen = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
    worst, mean = measure(generator, frozen, DTYPES[name], SIZES[generator.align_corners])
    check_parity(name, worst, mean)
    return Module(path.name, sha256(path), worst, mean)


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
