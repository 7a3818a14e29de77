"""Photo and render pairs: which photos teach, which are held out, and the crops a step is made of.

Renders are cached as uint8 arrays (2, H, W, 3), photo then render. The cache's folder carries a digest of the
renderer, so that a changed look never meets pictures of the old one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor

from layers.model.train import render as renderer
from layers.model.train.render import Picture, render

SUFFIXES = {".jpg", ".jpeg", ".png", ".webp"}
# Photos whose licence asks more than credit; they neither teach nor appear in a figure.
NOT_FREE = {"clic2025-unsplash", "faces-unsplash", "sharealike-food"}
HELD_OUT_FACES = ("faces-cc0/047.jpg", "faces-cc0/052.jpg", "faces-cc0/061.jpg", "faces-cc0/062.jpg")
HELD_OUT = (
    *HELD_OUT_FACES,
    "kodak/kodim15.png",  # portrait
    "kodak/kodim03.png",  # caps under a cloudy sky
    "kodak/kodim19.png",  # landscape with a lighthouse
    "elementary/Sunset_by_the_Pier.jpg",  # landscape, flat sky
    "skimage/rocket.jpg",  # night, flat sky
    "skimage/coffee.png",  # food
    "skimage/chelsea.png",  # animal
    "kodak/kodim23.png",  # animals
)
SIDES = (1024, 640, 448, 320)  # of the long side, as the photo is
VARIED = (768, 512, 256)  # with other light and colours, so that every hue meets every bin of luminance
MARGIN = 8  # a patch's border depends on pixels the network was not shown


@dataclass(frozen=True)
class Pair:
    """One cached photo and its render, (H, W, 3) uint8 RGB each, mapped from disk."""

    photo: Picture
    target: Picture

    @property
    def side(self) -> int:
        """The long side in pixels."""
        height, width = self.photo.shape[:2]
        return int(max(height, width))


def photos(folder: Path) -> list[tuple[str, Path]]:
    """(name, path) of each free photo below `folder`, by name; a name is the path from `folder`, with slashes."""
    found = ((p.relative_to(folder), p) for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES)
    return sorted((n.as_posix(), p) for n, p in found if not NOT_FREE & set(n.parts))


def split(folder: Path) -> tuple[list[tuple[str, Path]], list[tuple[str, Path]]]:
    """(training, held out) photos of `folder`."""
    found = photos(folder)
    return [f for f in found if f[0] not in HELD_OUT], [f for f in found if f[0] in HELD_OUT]


def read(path: Path, side: int) -> Picture:
    """RGB (H, W, 3) uint8, reduced to a long side of at most `side` pixels. Raises OSError."""
    bgr = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if bgr is None:
        raise OSError(f"{path} is no picture OpenCV can read")
    scale = side / max(bgr.shape[:2])
    if scale < 1:
        bgr = cv2.resize(bgr, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(bgr[..., ::-1], dtype=np.uint8)


def vary(rgb: Picture, rng: np.random.Generator) -> Picture:
    """The same picture with channels exchanged and another gain and gamma in each: new colours, new light."""
    light = (rgb[..., rng.permutation(3)] / 255) ** rng.uniform(0.6, 1.6)
    light = light * rng.uniform(0.7, 1.1) * rng.uniform(0.85, 1.15, 3)
    return np.rint(np.clip(light, 0, 1) * 255).astype(np.uint8)


def prepare(folder: Path, cache: Path, workers: int = 2) -> list[Pair]:
    """Render every training photo of `folder` at every size into `cache`, once, and map the pairs."""
    digest = hashlib.sha256(Path(renderer.__file__).read_bytes()).hexdigest()[:12]
    home = cache / digest
    home.mkdir(parents=True, exist_ok=True)
    jobs = [(n, p, side, home) for n, p in split(folder)[0] for side in (*SIDES, *VARIED)]
    # Threads, as OpenCV and NumPy let go of the GIL: a process forked after OpenMP has begun can hang for ever.
    with ThreadPoolExecutor(workers) as pool:
        files = dict.fromkeys(pool.map(_render_into, jobs))  # a small photo is one pair at several sizes
    return [Pair(*np.load(file, mmap_mode="r")) for file in files]


def patches(pairs: Sequence[Pair], size: int, count: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Photo and render (count, 3, size, size) in [-1, 1], the same places, turned and mirrored at random."""
    big = [p for p in pairs if min(p.photo.shape[:2]) >= size]
    weights = np.sqrt([p.photo.size for p in big])
    chosen = rng.choice(len(big), count, p=weights / weights.sum())
    return _batch([_turn(_cut(big[i], size, rng), rng) for i in chosen])


def whole(pairs: Sequence[Pair], low: int, high: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """One photo and its render (1, 3, H, W) in [-1, 1] with a long side in [low, high], turned and mirrored."""
    fit = [p for p in pairs if low <= p.side <= high]
    pair = fit[rng.integers(len(fit))]
    return _batch([_turn((pair.photo, pair.target), rng)])


def to_tensor(rgb: Picture) -> Tensor:
    """RGB (H, W, 3) uint8 -> (1, 3, H, W) float32 in [-1, 1]."""
    return torch.from_numpy(np.array(rgb)).permute(2, 0, 1)[None].float() / 127.5 - 1


def _render_into(job: tuple[str, Path, int, Path]) -> Path:
    name, path, side, home = job
    cv2.setNumThreads(1)
    rgb = read(path, side)
    varied = side in VARIED
    file = home / f"{name.replace('/', '-')}-{max(rgb.shape[:2])}{'-varied' * varied}.npy"
    if not file.exists():
        if varied:
            rgb = vary(rgb, np.random.default_rng(list(f"{name}{side}".encode())))
        part = file.with_suffix(f".{side}.part")
        with part.open("wb") as stream:
            np.save(stream, np.stack([rgb, render(rgb)]))
        part.rename(file)
    return file


def _cut(pair: Pair, size: int, rng: np.random.Generator) -> tuple[Picture, Picture]:
    top, left = (int(rng.integers(n - size + 1)) for n in pair.photo.shape[:2])
    here = np.s_[top : top + size, left : left + size]
    return pair.photo[here], pair.target[here]


def _turn(both: tuple[Picture, Picture], rng: np.random.Generator) -> Iterator[Picture]:
    turns, mirrored = int(rng.integers(4)), bool(rng.integers(2))
    for picture in both:
        turned = np.rot90(picture, turns)
        yield turned[:, ::-1] if mirrored else turned


def _batch(items: Sequence[Iterator[Picture]]) -> tuple[Tensor, Tensor]:
    photo, target = zip(*(map(to_tensor, item) for item in items), strict=True)
    return torch.cat(photo), torch.cat(target)
