"""What surrounds inference in a conversion: ours, and the usual way through PIL. Milliseconds."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field
from statistics import median

import numpy as np


@dataclass
class Outside:
    """Each entry: decode, bring to `size`, make a tensor; then make pixels of a tensor and encode them."""

    ours: list[float] = field(default_factory=list)
    pil: list[float] = field(default_factory=list)

    def ratio(self) -> float:
        return median(self.pil) / median(self.ours)


def compare(photo: bytes, size: int, times: int) -> Outside:
    """A JPEG to a JPEG of `size` at most, in turns."""
    found = Outside()
    for turn in range(times + 1):
        for name, run in (("ours", _ours), ("pil", _pil)):
            begun = time.perf_counter()
            run(photo, size)
            if turn:  # the first loads libraries
                getattr(found, name).append((time.perf_counter() - begun) * 1000)
    return found


def _ours(photo: bytes, size: int) -> None:
    from handler import image

    header = image.check(photo, len(photo), 10**9)
    upright = image.decode(photo, header, size)
    target, _ = image.target_size(upright.size, size, size, False)
    tensor = image.to_tensor(image.resize(upright, target).rgb)
    image.encode(image.to_pixels(tensor, target), None, "jpeg", 92)


def _pil(photo: bytes, size: int) -> None:
    """As the published script does it: PIL, LANCZOS, a float tensor, and back."""
    import torch
    from PIL import Image, ImageOps

    picture = ImageOps.exif_transpose(Image.open(io.BytesIO(photo)).convert("RGB"))
    scale = size / max(picture.size)
    if scale < 1:
        width, height = (round(side * scale) // 32 * 32 for side in picture.size)
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    tensor = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float().div(255)[None] * 2 - 1
    back = (tensor[0].clip(-1, 1) * 0.5 + 0.5).permute(1, 2, 0).mul(255).to(torch.uint8).numpy()
    Image.fromarray(back).save(io.BytesIO(), "JPEG", quality=92)
