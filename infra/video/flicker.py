"""How much a painted clip flickers, beside the clip that it was painted from.

The measure is the warping error of Lai et al., "Learning Blind Video Temporal Consistency", ECCV 2018 (section
4.2): each frame is compared with the one before it, moved along the optical flow of the *clip*, where both can be
seen. What is left is change that no motion explains. The same over the clip's own frames is what its noise and the
flow's errors make of it, so the ratio of the two says what painting has added.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from infra.video.motion import Motion

Levels = NDArray[np.float32]  # H×W×3, 0 to 255
LUMA = np.array([0.2126, 0.7152, 0.0722], np.float32)  # BT.709


@dataclass(slots=True)
class Series:
    """Sums over the pairs of frames of one clip."""

    pairs: int = 0
    absolute: float = 0.0
    squared: float = 0.0
    brightness: float = 0.0

    def add(self, moved: Levels, now: Levels, visible: NDArray[np.bool_]) -> None:
        difference = (now - moved)[visible]
        self.pairs += 1
        self.absolute += float(np.abs(difference).mean())
        self.squared += float(np.square(difference / 255).mean())
        self.brightness += abs(float((difference.mean(axis=0) * LUMA).sum()))

    def means(self) -> dict[str, float]:
        """`change` and `brightness` in levels of 255, `warping_error` of pixels in [0, 1]; means over the pairs.

        `brightness` is by how much the visible part as a whole becomes lighter or darker.
        """
        pairs = max(1, self.pairs)
        return {
            "change": round(self.absolute / pairs, 3),
            "warping_error": round(self.squared / pairs, 6),
            "brightness": round(self.brightness / pairs, 3),
        }


@dataclass(slots=True)
class Flicker:
    """The clip's series and the painting's, over pairs that are neither the same frame twice nor a cut."""

    cuts: int = 0
    visible: float = 0.0
    clip: Series = field(default_factory=Series)
    painted: Series = field(default_factory=Series)
    steadied: Series | None = None

    def add(self, motion: Motion, clip: tuple[Levels, Levels], painted: tuple[Levels, Levels]) -> None:
        """One pair of (before, now) of each."""
        if motion.is_cut:
            self.cuts += 1
            return
        self.visible += float(motion.visible.mean())
        for series, (before, now) in ((self.clip, clip), (self.painted, painted)):
            series.add(motion.warp(before), now, motion.visible)

    def add_steadied(self, motion: Motion, before: Levels, now: Levels) -> None:
        self.steadied = self.steadied or Series()
        if not motion.is_cut:
            self.steadied.add(motion.warp(before), now, motion.visible)

    def report(self) -> dict[str, object] | None:
        """For --json; None where there is no pair to compare."""
        if not self.clip.pairs:
            return None
        clip, painted = self.clip.means(), self.painted.means()
        told: dict[str, object] = {
            "pairs": self.clip.pairs,
            "cuts": self.cuts,
            "visible": round(self.visible / self.clip.pairs, 3),
            "ratio": _ratio((self.steadied or self.painted).means()["change"], clip["change"]),
            "clip": clip,
            "painted": painted,
        }
        return told | ({"steadied": self.steadied.means()} if self.steadied else {})


def as_text(report: dict[str, object] | None) -> str:
    """One line for a person."""
    if report is None:
        return "flicker: not measured, as no two frames differ"
    clip, painted, steadied = (report.get(name) for name in ("clip", "painted", "steadied"))
    assert isinstance(clip, dict)
    assert isinstance(painted, dict)
    after = f", {steadied['change']:.2f} steadied" if isinstance(steadied, dict) else ""
    ratio = f"{report['ratio']} times the clip's own {clip['change']:.2f}" if report["ratio"] else "the clip: 0"
    return f"flicker: {painted['change']:.2f} of 255 levels a frame{after} ({ratio})"


def _ratio(one: float, other: float) -> float | None:
    return round(one / other, 2) if other else None
