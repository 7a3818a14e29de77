"""Distil the renderer into the generator: `python -m layers.model.train.train PHOTOS --out DIR --minutes N`.

From a random start, never from published weights. The schedule follows the share of the time budget that is
spent, so that a run ends in time on any machine; run again to resume, with more minutes to go on.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from layers.model.generator import Generator
from layers.model.train.dataset import MARGIN, Pair, patches, prepare, read, split, whole
from layers.model.train.evaluate import paint, psnr, ssim
from layers.model.train.optimise import Muon
from layers.model.train.render import Picture, render
from layers.model.train.start import fold, start

PEAK_RATE, FLOOR_RATE, WARM_UP_STEPS = 2e-2, 2e-4, 50
EMA_DECAY = 0.998
PATCHES = ((96, 7), (128, 4), (160, 3), (192, 2), (256, 1))  # (size, how many): about as much work in each
# One GroupNorm sees the whole image: crops alone would teach it statistics that no user's photo has.
WHOLE_FROM = 0.7  # share of the budget after which steps are mostly whole photos, and larger ones
CHECKED = 4  # held-out photos looked at while training


def loss_of(output: Tensor, target: Tensor) -> Tensor:
    """L1 of colours, fine and coarse, and of slopes, and dissimilarity, of (N, 3, H, W) in [-1, 1]."""
    colours = F.l1_loss(output, target)
    slopes = F.l1_loss(output.diff(dim=3), target.diff(dim=3)) + F.l1_loss(output.diff(dim=2), target.diff(dim=2))
    coarse = F.l1_loss(F.avg_pool2d(output, 8), F.avg_pool2d(target, 8))
    return colours + coarse + slopes + 0.3 * (1 - similarity(output, target))


def similarity(a: Tensor, b: Tensor) -> Tensor:
    """Mean SSIM with a 7×7 box (Wang et al. 2004), of (N, 3, H, W) in [-1, 1]."""
    (ma, mb), (aa, bb, ab) = ([F.avg_pool2d(x, 7, 1) for x in xs] for xs in ((a, b), (a * a, b * b, a * b)))
    va, vb, cov = aa - ma * ma, bb - mb * mb, ab - ma * mb
    c1, c2 = (0.01 * 2) ** 2, (0.03 * 2) ** 2
    return ((2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2))).mean()


def rate(step: int, spent: float) -> float:
    """Learning rate: linear warm-up in steps, then half a cosine over the share `spent` of the budget."""
    cosine = FLOOR_RATE + (PEAK_RATE - FLOOR_RATE) * (1 + math.cos(math.pi * min(spent, 1))) / 2
    return cosine * min(1, (step + 1) / WARM_UP_STEPS)


def batch(pairs: Sequence[Pair], spent: float, rng: np.random.Generator) -> tuple[Tensor, Tensor, int]:
    """Photo, render (N, 3, H, W) and how many border pixels to leave out of the loss."""
    late = spent > WHOLE_FROM
    if rng.random() < (0.75 if late else 0.3):
        return *whole(pairs, *((448, 640) if late else (256, 320)), rng), 0
    return *patches(pairs, *PATCHES[rng.integers(len(PATCHES))], rng), MARGIN


class Run:
    """A resumable training run: the generator, its moving average, the optimiser, and the time they took."""

    def __init__(self, out: Path, network: Generator) -> None:
        self.out, self.step, self.seconds = out, 0, 0.0
        self.network = network
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average = {k: v.clone() for k, v in self.network.state_dict().items()}
        self.optimiser = Muon(list(self.network.parameters()))
        self.bfloat16 = bool(torch.cpu.get_capabilities().get("avx512_bf16"))
        if (out / "run.pt").exists():
            self._load(torch.load(out / "run.pt", weights_only=True))

    def learn(self, photo: Tensor, target: Tensor, margin: int, learning_rate: float) -> float:
        """One step; its loss."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
            output = self.network(photo.contiguous(memory_format=torch.channels_last))
        inside = slice(margin, -margin or None)
        loss = loss_of(output.float()[..., inside, inside], target[..., inside, inside])
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step(learning_rate)
        self.step += 1
        self._follow()
        return float(loss.detach())

    def save(self) -> None:
        """run.pt to resume from, and average.pt in half precision to ship; whole files or none."""
        shipped = {key: value.half() for key, value in fold(self.average).items()}
        kept: dict[str, Any] = {"network": self.network.state_dict(), "average": self.average}
        kept |= {"optimiser": self.optimiser.state_dict(), "step": self.step, "seconds": self.seconds}
        for name, value in (("run.pt", kept), ("average.pt", shipped)):
            torch.save(value, self.out / f"{name}.part")
            (self.out / f"{name}.part").rename(self.out / name)

    def log(self, **row: float) -> None:
        """Append a row to losses.csv."""
        with (self.out / "losses.csv").open("a", newline="") as stream:
            writer = csv.DictWriter(stream, ["step", "minutes", "loss", "rate", "psnr", "ssim"])
            if not stream.tell():
                writer.writeheader()
            writer.writerow({"step": self.step, "minutes": round(self.seconds / 60, 3), **row})

    def _follow(self) -> None:
        decay = min(EMA_DECAY, (1 + self.step) / (10 + self.step))
        for key, value in self.network.state_dict().items():
            self.average[key].lerp_(value, 1 - decay)

    def _load(self, kept: dict[str, Any]) -> None:
        self.network.load_state_dict(kept["network"])
        self.optimiser.load_state_dict(kept["optimiser"])
        self.average, self.step, self.seconds = kept["average"], kept["step"], kept["seconds"]


def check(average: dict[str, Tensor], held_out: Sequence[tuple[Picture, Picture]]) -> dict[str, float]:
    """Mean PSNR in dB and SSIM of the averaged generator against the renderer."""
    network = Generator(align_corners=True).eval()
    network.load_state_dict(fold(average))
    pictures = [(paint(network, photo), target) for photo, target in held_out]
    return {
        "psnr": round(float(np.mean([psnr(*both) for both in pictures])), 3),
        "ssim": round(float(np.mean([ssim(*both) for both in pictures])), 4),
    }


def train(folder: Path, out: Path, minutes: float, seed: int) -> None:
    """Train until `minutes` of training time are spent, over all runs in `out`."""
    pairs = prepare(folder, out / "cache")
    held_out = [(p, render(p)) for p in (read(path, 384) for _, path in split(folder)[1][::3][:CHECKED])]
    run = Run(out, start(seed, *patches(pairs, 96, 32, np.random.default_rng(seed))))
    rng = np.random.default_rng([seed, run.step])
    last, losses, checked = time.monotonic(), list[float](), run.seconds
    while run.seconds < 60 * minutes:
        learning_rate = rate(run.step, run.seconds / (60 * minutes))
        losses.append(run.learn(*batch(pairs, run.seconds / (60 * minutes), rng), learning_rate))
        now = time.monotonic()
        run.seconds, last = run.seconds + now - last, now
        if run.step % 25 == 0:
            due = run.seconds - checked > 180
            measured = check(run.average, held_out) if due else {}
            run.log(loss=round(float(np.mean(losses)), 5), rate=round(learning_rate, 8), **measured)
            losses.clear()
            if due:
                run.save()
                checked = run.seconds
    run.log(**check(run.average, held_out))
    run.save()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path, help="folder of photos, searched with its subfolders")
    parser.add_argument("--out", type=Path, required=True, help="checkpoints, losses.csv and cached renders")
    parser.add_argument("--minutes", type=float, default=70, help="training time in all, over every resume")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    train(given.photos, given.out, given.minutes, given.seed)


if __name__ == "__main__":
    main()
