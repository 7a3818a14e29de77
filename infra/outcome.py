"""What became of one photo of a batch, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from infra.text import shown

Status = Literal["converted", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one photo. `error` has a `code` and a `detail` unless it was converted."""

    source: str
    status: Status
    output: str | None = None
    format: str | None = None
    width: int | None = None
    height: int | None = None
    style: str | None = None
    timings: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    error: Mapping[str, str] | None = None

    @classmethod
    def failed(cls, source: Path, code: str, detail: str) -> Outcome:
        """Not converted, and why."""
        return cls(str(source), "failed", error={"code": code, "detail": detail})

    @classmethod
    def exists(cls, source: Path, target: Path) -> Outcome:
        """Not converted, since its picture is there."""
        detail = f"{shown(target)} is there already: --force replaces it"
        return cls(str(source), "skipped", str(target), error={"code": "exists", "detail": detail})

    def as_json(self) -> str:
        """One line; paths that are no Unicode stay ASCII escapes, as os.fsdecode made them."""
        return json.dumps(asdict(self))

    def as_text(self) -> str:
        """One line for a person."""
        name = shown(self.source)
        if self.error:
            return f"{name}: {self.status}: {self.error['detail']} [{self.error['code']}]"
        warned = "".join(f"\n  warning: {warning}" for warning in self.warnings)
        seconds = self.timings.get("total", 0.0) / 1000
        return f"{name} -> {shown(self.output)} ({self.width}×{self.height}, {seconds:.1f} s){warned}"
