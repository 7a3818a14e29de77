"""Two ways from a photo's bytes to a tensor, and from a tensor to a picture's bytes. Times in ms."""

from __future__ import annotations

import io
import time

STEPS = ("decode", "resize", "to tensor", "to pixels", "encode")
QUALITY = 92


class Laps:
    """Says how long each step took."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._begun = time.perf_counter()

    def __call__(self, step: str) -> None:
        now = time.perf_counter()
        self.spent[step], self._begun = (now - self._begun) * 1000, now


def ours(data: bytes, size: int) -> dict[str, float]:
    from handler import image
    from handler.convert import output_format

    lap = Laps()
    header = image.check(data, len(data), 10**9)
    photo = image.decode(data, header, size)
    lap("decode")
    target, _ = image.target_size(photo.full, size, size, False)
    photo = image.resize(photo, target)
    lap("resize")
    tensor = image.to_tensor(photo.rgb)
    lap("to tensor")
    picture = image.to_pixels(tensor, target)
    lap("to pixels")
    image.encode(picture, None, output_format(header), QUALITY)
    lap("encode")
    return lap.spent


def through_pil(data: bytes, size: int) -> dict[str, float]:
    """As the published script does it: PIL, LANCZOS, a float tensor, and back."""
    import numpy as np
    import torch
    from PIL import Image, ImageOps

    lap = Laps()
    opened = Image.open(io.BytesIO(data))
    picture = ImageOps.exif_transpose(opened.convert("RGB"))
    lap("decode")
    scale = size / max(picture.size)
    if scale < 1:
        width, height = (round(side * scale) // 32 * 32 for side in picture.size)
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    lap("resize")
    tensor = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float().div(255)[None] * 2 - 1
    lap("to tensor")
    back = (tensor[0].clip(-1, 1) * 0.5 + 0.5).permute(1, 2, 0).mul(255).to(torch.uint8).numpy()
    lap("to pixels")
    Image.fromarray(back).save(io.BytesIO(), opened.format, quality=QUALITY)
    lap("encode")
    return lap.spent
