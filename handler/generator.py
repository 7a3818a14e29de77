"""Frozen styles: a folder each, `manifest.json` beside one TorchScript module per precision.

The contract with layers/model is this data alone. A module takes and gives (N, 3, H, W) RGB in [-1, 1],
channels-last, in its precision.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from handler.cpu import Precision, best_precision
from handler.errors import StyleError, UnknownStyle
from handler.operators import Kernel, Native
from handler.settings import Settings

FACE_SIZE = 512  # side of the square that a style paints faces best in, where its manifest says nothing
FACE_SIZES = (64, 1024)
SCHEMA_VERSION = 1  # of manifest.json, as layers/model/manifest.py writes it
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
WARM_UP_SIDE = 64  # what a first call costs over a later one hardly depends on size
# Until this machine has shown what it can do: the fastest that was ever measured, 0.22 s for 512×512.
SECONDS_PER_PIXEL = 0.22 / 512**2
TELLING = 3  # conversions before what they took counts: one may meet a busy machine

as_frozen: Callable[[bool], AbstractContextManager[None]] = torch.jit.optimized_execution  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is said of a frozen style; `files` maps a precision to (file name, SHA-256 in hex)."""

    style: str
    title: str
    licence: str
    digest: str
    files: dict[str, tuple[str, str]]
    face_size: int = FACE_SIZE
    native: Native | None = None

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Raises StyleError where it is missing or not what `animegan freeze` writes."""
        try:
            said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if said["schema_version"] != SCHEMA_VERSION:
                raise ValueError(f"schema_version {said['schema_version']}, not {SCHEMA_VERSION}")
            files = {name: (module["file"], module["sha256"]) for name, module in said["modules"].items()}
            face_size = int(said.get("face_size", FACE_SIZE))
            if not FACE_SIZES[0] <= face_size <= FACE_SIZES[1]:
                raise ValueError(f"face_size {face_size}, not {FACE_SIZES[0]} to {FACE_SIZES[1]}")
            described = said["style"], said["title"], said["licence"], said["checkpoint_sha256"]
            return cls(*described, files, face_size, Native.read(said.get("native")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StyleError(f"{path} is no manifest ({error!r}); freeze the style again.") from None


class FrozenGenerator:
    """A loaded style: (N, 3, H, W) float32 in [-1, 1] -> the same shape, H and W multiples of 32."""

    def __init__(self, folder: Path, manifest: Manifest, precision: Precision, kernel: Kernel = "torch") -> None:
        self.manifest = manifest
        self.precision: Precision = precision if precision in manifest.files else "float32"
        begun = time.perf_counter()
        native = manifest.native if kernel == "native" else None
        if native and not (self.precision in native.files and native.loaded(folder)):
            native = None
        self.kernel: Kernel = "native" if native else "torch"
        self._module = _load(folder, *(native or manifest).files[self.precision])
        self.load_seconds = time.perf_counter() - begun
        self.warm_up_seconds = 0.0
        self.seconds_per_pixel = SECONDS_PER_PIXEL  # what a conversion takes at best: the least seen
        self._seen: list[float] = []

    def __call__(self, x: Tensor) -> Tensor:
        begun = time.perf_counter()
        # inference_mode is per thread, so it has to be here. A frozen graph is optimised; to have it profiled
        # and optimised again makes the first two calls slow, and later ones no faster (docs/performance.md).
        with torch.inference_mode(), as_frozen(False):
            y: Tensor = self._module(x.to(DTYPES[self.precision])).float()
        self._learn((time.perf_counter() - begun) / (x.numel() / 3))
        return y

    def _learn(self, spent: float) -> None:
        if len(self._seen) < TELLING:
            self._seen.append(spent)
        if len(self._seen) == TELLING:
            self._seen[0] = self.seconds_per_pixel = min(*self._seen, spent)

    def warm_up(self) -> None:
        """One call: the first loads and prepares what later ones use."""
        x = torch.zeros(1, 3, WARM_UP_SIDE, WARM_UP_SIDE).to(memory_format=torch.channels_last)
        begun = time.perf_counter()
        self(x)
        self.warm_up_seconds = time.perf_counter() - begun
        self._seen.clear()


def _load(folder: Path, file: str, sha256: str) -> torch.jit.ScriptModule:
    path = folder / file
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise StyleError(f"{path} is not what its manifest says (SHA-256 differs); freeze the style again.")
        with warnings.catch_warnings():  # torch marks TorchScript as legacy; its successor needs a compiler
            warnings.simplefilter("ignore", DeprecationWarning)
            module: torch.jit.ScriptModule = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
            return module
    except (OSError, RuntimeError) as error:
        raise StyleError(f"{path} cannot be loaded ({error}); freeze the style again.") from None


class Styles:
    """The styles of one folder, each loaded once, at its first use."""

    def __init__(self, folder: Path, precision: Precision, kernel: Literal["auto", "torch"] = "auto") -> None:
        self._folder, self._precision, self._kernel = folder, precision, kernel
        self.manifests: dict[str, Manifest] = {}
        self.damaged: dict[str, str] = {}  # style -> why it cannot be had; the others still can
        self._loaded: dict[str, FrozenGenerator] = {}
        self._loading = threading.Lock()
        for path in sorted(folder.glob("*/manifest.json")):
            try:
                self.manifests[path.parent.name] = Manifest.read(path)
            except StyleError as damage:
                self.damaged[path.parent.name] = str(damage)

    @classmethod
    def of(cls, settings: Settings) -> Styles:
        """Those of STYLES_DIR, in the precision and on the kernel that this machine and the settings allow."""
        return cls(settings.styles_dir, best_precision(settings.precision), settings.kernel)

    def default(self, name: str) -> FrozenGenerator:
        """The style that must be there. Raises StyleError, since it is configured rather than asked for."""
        if not self.manifests and not self.damaged:
            raise StyleError(f"no frozen style in {self._folder} (STYLES_DIR); `animegan freeze` makes one")
        try:
            return self[name]
        except UnknownStyle:
            damage = self.damaged.get(name)
            why = damage or f"there is no such style in {self._folder} (STYLES_DIR); freeze it there."
            others = ", ".join(self.manifests)
            raise StyleError(f"STYLE={name}: {why}" + (f" Or set STYLE to {others}." if others else "")) from None

    def described(self) -> list[dict[str, str]]:
        """Name, title, licence, precision, kernel and checkpoint digest of each."""
        return [
            {
                "name": name,
                "title": manifest.title,
                "licence": manifest.licence,
                "precision": self.precision(name),
                "kernel": self.kernel(name),
                "digest": manifest.digest,
            }
            for name, manifest in self.manifests.items()
        ]

    def precision(self, name: str) -> Precision:
        """What a style is or will be loaded in."""
        return self._precision if self._precision in self.manifests[name].files else "float32"

    def kernel(self, name: str) -> Kernel:
        """What a style runs on, or would by this processor: its own operators, or torch's."""
        if name in self._loaded:
            return self._loaded[name].kernel
        native = self.manifests[name].native if self._kernel == "auto" else None
        return "native" if native and native.able(self.precision(name)) else "torch"

    def __getitem__(self, name: str) -> FrozenGenerator:
        """Raises UnknownStyle, naming those that there are."""
        if name not in self.manifests:
            raise UnknownStyle(f"There is no style {name[:60]!r} here; there is {', '.join(self.manifests)}.")
        with self._loading:
            if name not in self._loaded:
                loading = self._folder / name, self.manifests[name], self._precision, self.kernel(name)
                self._loaded[name] = FrozenGenerator(*loading)
                self._loaded[name].warm_up()
            return self._loaded[name]
