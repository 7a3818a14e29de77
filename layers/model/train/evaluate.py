"""How near the generator comes to the renderer on photos it never saw, and how far its colours leave the photo.

`python -m layers.model.train.evaluate PHOTOS CHECKPOINT --sheet FILE --before-after FILE`
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from skimage.color import deltaE_ciede2000, rgb2lab
from skimage.metrics import peak_signal_noise_ratio, structural_similarity
from torch import Tensor

from layers.model.checkpoint import load_checkpoint
from layers.model.generator import Generator
from layers.model.train.dataset import HELD_OUT_FACES, read, split, to_tensor
from layers.model.train.render import Picture, render

Network = Callable[[Tensor], Tensor]

ROWS = (  # of the contact sheet
    *HELD_OUT_FACES,
    "kodak/kodim15.png",
    "kodak/kodim19.png",
    "elementary/Sunset_by_the_Pier.jpg",
    "skimage/rocket.jpg",
    "skimage/coffee.png",
    "skimage/chelsea.png",
)
BEFORE_AFTER = ("faces-cc0/061.jpg", "kodak/kodim19.png", "kodak/kodim23.png", "skimage/coffee.png")


@dataclass(frozen=True)
class Figures:
    """One held-out photo's: network against renderer, in dB and [0, 1]; colour shift against the photo, ΔE2000."""

    psnr: float
    ssim: float
    shift: float
    renderer_shift: float


def load(checkpoint: Path) -> Generator:
    """The generator with `checkpoint`'s weights, float32. Raises CheckpointError."""
    network = Generator(align_corners=True).eval()
    network.load_state_dict(load_checkpoint(checkpoint)[0])
    return network


def paint(network: Network, photo: Picture, dtype: torch.dtype = torch.float32) -> Picture:
    """The generator's picture of `photo`, RGB (H, W, 3) uint8 both; any size from 8×8."""
    with torch.inference_mode():
        output = network(to_tensor(photo).to(dtype, memory_format=torch.channels_last)).float()
    picture = output[0].permute(1, 2, 0).add(1).mul(127.5).round().clamp(0, 255)
    return np.asarray(picture.byte().numpy(), np.uint8)


def psnr(a: Picture, b: Picture) -> float:
    """Peak signal to noise ratio in dB."""
    return float(peak_signal_noise_ratio(a, b, data_range=255))  # type: ignore[no-untyped-call]


def ssim(a: Picture, b: Picture) -> float:
    """Structural similarity, mean over channels and pixels (scikit-image's 7×7 box)."""
    return float(structural_similarity(a, b, channel_axis=2, data_range=255))  # type: ignore[no-untyped-call]


def colour_shift(a: Picture, b: Picture) -> float:
    """Mean ΔE2000 over pixels."""
    return float(deltaE_ciede2000(rgb2lab(a), rgb2lab(b)).mean())  # type: ignore[no-untyped-call]


def measure(photo: Picture, target: Picture, output: Picture) -> Figures:
    """Figures of one photo, its render and the network's picture."""
    return Figures(
        psnr(target, output), ssim(target, output), colour_shift(photo, output), colour_shift(photo, target)
    )


def table(rows: Sequence[tuple[str, Figures]]) -> str:
    """A Markdown table, a photo a line, with the means of all and of the faces below."""
    faces = [f for name, f in rows if name in HELD_OUT_FACES]
    lines = [*rows, ("mean", _mean([f for _, f in rows])), *([("mean of faces", _mean(faces))] if faces else [])]
    head = "| photo | PSNR dB | SSIM | ΔE2000 to the photo | the renderer's ΔE2000 |\n|---|---|---|---|---|"
    body = (f"| {n} | {f.psnr:.2f} | {f.ssim:.3f} | {f.shift:.2f} | {f.renderer_shift:.2f} |" for n, f in lines)
    return "\n".join([head, *body])


def sheet(rows: Iterable[Sequence[Picture]], width: int, columns: int = 1) -> Picture:
    """Rows of pictures side by side, each cut to 4:3, `width` pixels in all, laid out in `columns` of rows."""
    bands = [np.hstack([_fit(p, width // columns // len(row)) for p in row]) for row in rows]
    return np.vstack([np.hstack(bands[i : i + columns]) for i in range(0, len(bands), columns)])


def write(path: Path, picture: Picture, limit: int) -> None:
    """A JPEG of at most `limit` bytes: the best quality that fits. Raises ValueError."""
    for quality in range(92, 40, -4):
        data = cv2.imencode(".jpg", np.ascontiguousarray(picture[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, quality])[
            1
        ]
        if len(data) <= limit:
            path.write_bytes(data.tobytes())
            return
    raise ValueError(f"{path} does not fit in {limit} bytes")


def _mean(figures: Sequence[Figures]) -> Figures:
    return Figures(*(float(np.mean(column)) for column in zip(*map(astuple, figures), strict=True)))


def _fit(picture: Picture, width: int) -> Picture:
    height, given = picture.shape[:2]
    tall, wide = min(height, given * 3 // 4), min(given, height * 4 // 3)
    top, left = (height - tall) // 4, (given - wide) // 2  # faces are in the upper part
    cut = picture[top : top + tall, left : left + wide]
    return np.asarray(cv2.resize(cut, (width, width * 3 // 4), interpolation=cv2.INTER_AREA), np.uint8)


def evaluate(folder: Path, checkpoint: Path, side: int, dtype: torch.dtype) -> dict[str, tuple[Picture, ...]]:
    """name -> (photo, render, network's picture) of each held-out photo with a long side of at most `side`."""
    network = load(checkpoint).to(dtype)
    photos = ((name, read(path, side)) for name, path in split(folder)[1])
    return {name: (photo, render(photo), paint(network, photo, dtype)) for name, photo in photos}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path, help="folder of photos, searched with its subfolders")
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--side", type=int, default=640, help="long side of the photos in pixels")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--sheet", type=Path, help="write photo | renderer | network rows here")
    parser.add_argument("--before-after", type=Path, help="write photo | network pairs here")
    given = parser.parse_args()
    shown = evaluate(given.photos, given.checkpoint, given.side, getattr(torch, given.precision))
    print(table([(name, measure(*pictures)) for name, pictures in shown.items()]))
    if given.sheet:
        write(given.sheet, sheet([shown[name] for name in ROWS], 1080), 600_000)
    if given.before_after:
        write(given.before_after, sheet([shown[name][::2] for name in BEFORE_AFTER], 1200, 2), 400_000)


if __name__ == "__main__":
    main()
