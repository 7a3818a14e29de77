"""What becomes of every awkward picture: `python -m tests.awkward_table > docs/awkward.md`.

With `--json` it prints the rows with what each cost: CPU seconds of decoding, and the peak of memory.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import cv2
import torch
from torch import Tensor

from handler import image
from handler.convert import ConversionRequest, convert
from handler.errors import ConversionError
from handler.generator import FrozenGenerator
from handler.settings import Settings
from handler.stages import Stages

SHARED = Path(os.environ.get("ANIMEGAN_SHARED") or Path(__file__).parents[2] / "shared")
LIMITS = Settings.model_fields
SIZE = 256

HEAD = """# Awkward pictures

What becomes of each of {count} awkward, hostile and damaged pictures (`../shared/data/awkward`, whose
`SOURCES.md` says where they come from): {pictures} end as a picture, {errors} as a named error, none as anything
else. Made by `python -m tests.awkward_table > docs/awkward.md` with the default limits and the extra `heic`;
`tests/handler/test_awkward.py` compares it with what happens now.

| file | seen as | outcome |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One file; `decoding` in CPU seconds, of `image.check` and `image.decode` together."""

    file: str
    seen: str
    outcome: str
    decoding: float

    @property
    def line(self) -> str:
        return f"| {self.file} | {self.seen} | {self.outcome} |"


def unchanged(x: Tensor) -> Tensor:
    """A generator that gives back what it is given."""
    return x


def row(path: Path, name: str) -> Row:
    """Probe, decode and convert one file. Only a ConversionError counts as an answer; others are raised."""
    seen, stages, begun = "-", Stages(), time.process_time()
    decoding = 0.0
    data = path.read_bytes()
    try:
        header = image.check(data, LIMITS["max_input_bytes"].default, LIMITS["max_input_pixels"].default)
        seen = header.format
        photo = image.decode(data, header, LIMITS["max_side"].default)
        decoding = time.process_time() - begun
        generator = cast(FrozenGenerator, unchanged)
        request = ConversionRequest(data, "none", size=min(SIZE, max(header.width, header.height)))
        convert(request, header, generator, LIMITS["max_side"].default, stages)
        photo = image.resize(photo, (1, 1))
        said = " ".join([f"{photo.full[0]}×{photo.full[1]}", "with alpha" * (photo.alpha is not None)]).strip()
        outcome = "; ".join([said, *photo.warnings])
    except ConversionError as error:
        decoding = decoding or time.process_time() - begun
        outcome = f"**{error.code}**: {re.sub('[|<>]', '', str(error))}"
    return Row(name, seen, outcome, decoding)


def rows(folder: Path) -> list[Row]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "SOURCES.md")
    return [row(path, path.relative_to(folder).as_posix()) for path in files]


def table(found: list[Row]) -> str:
    errors = sum(row.outcome.startswith("**") for row in found)
    head = HEAD.format(count=len(found), pictures=len(found) - errors, errors=errors)
    return head + "".join(row.line + "\n" for row in found)


def peak_mib() -> float:
    """The most resident memory of this process yet; ru_maxrss alone would begin at the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS: bytes


def main() -> None:
    cv2.setNumThreads(1)  # hundreds of tiny pictures: threads would only wait for each other
    torch.set_num_threads(1)
    found = rows(SHARED / "data" / "awkward")
    if "--json" in sys.argv:
        print(json.dumps({"rows": [asdict(row) for row in found], "peak_mib": peak_mib()}))
    else:
        print(table(found), end="")


if __name__ == "__main__":
    main()
