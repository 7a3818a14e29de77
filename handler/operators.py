"""Operators that a style brings along: a library beside its modules, for processors that can run it.

Of one process's libraries only the first is loaded, since operators of one name cannot be had twice. A style that
was frozen with another one runs on torch alone: the same picture, later.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch

from handler.cpu import CPUINFO

Kernel = Literal["native", "torch"]

_loading = threading.Lock()
_digests: dict[str, str] = {}  # of libraries as they were loaded: their files may have been replaced since


@dataclass(frozen=True, slots=True)
class Native:
    """A style's modules that call operators, their library, and the flags that a processor needs for them."""

    files: dict[str, tuple[str, str]]  # by precision: name, SHA-256 in hex
    library: tuple[str, str]
    needs: dict[str, frozenset[str]]

    @classmethod
    def read(cls, said: Mapping[str, Any] | None) -> Native | None:
        """From a manifest, as layers/model/manifest.py writes it. Raises KeyError, TypeError."""
        if said is None:
            return None
        files = {name: (module["file"], module["sha256"]) for name, module in said["modules"].items()}
        needs = {name: frozenset(said["needs"][name]) for name in files}
        return cls(files, (said["library"], said["library_sha256"]), needs)

    def able(self, precision: str) -> bool:
        """True if this processor has what is needed; the library could kill the process where it has not."""
        return precision in self.needs and self.needs[precision] <= processor_flags(CPUINFO)

    def loaded(self, folder: Path) -> bool:
        """True if the operators are those that the style in `folder` was frozen with; loads them if none are."""
        name, digest = self.library
        with _loading:
            first = next((path for path in torch.ops.loaded_libraries if Path(path).name == name), None)
            try:
                here = _digests.get(first or "") or _sha256(Path(first or folder / name))
                if here != digest:
                    return False
                if first is None:
                    torch.ops.load_library(folder / name)  # type: ignore[no-untyped-call]
                _digests[first or str((folder / name).resolve())] = here
            except OSError:
                return False
        return True


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def processor_flags(cpuinfo: Path) -> frozenset[str]:
    """What Linux says that this processor can do; nothing elsewhere."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.split() for line in lines if line.startswith("flags")), []))
