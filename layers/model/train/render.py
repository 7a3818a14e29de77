"""Our own cel renderer, the teacher of the built-in style: photo in, flat colours and ink lines out.

Classical and local, so that a convolutional network can learn it:

- flow: smoothed structure tensor, and bilateral filters across and then along it
  (Kyprianidis & Döllner, "Image Abstraction by Structure Adaptive Filtering", 2008);
- flat areas: soft quantisation of luminance whose sharpness follows the local slope
  (Winnemöller, Olsen & Gooch, "Real-Time Video Abstraction", 2006);
- ink: difference of Gaussians across the flow, integrated along it
  (Kang, Lee & Chui, "Coherent Line Drawing", 2007).

Radii are in pixels and do not grow with the picture: a network's reach does not either.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Plane = NDArray[np.float32]


@dataclass(frozen=True)
class Look:
    """The renderer's dials. Lengths in pixels, luminance and colour distances in CIELAB units."""

    tensor_sigma: float = 2.5
    passes: int = 4
    across_sigma: float = 2.5
    along_sigma: float = 4.0
    colour_sigma: float = 8.0
    bins: int = 8
    slope: tuple[float, float] = (2.2, 3.5)  # of the quantiser: where L is level, where it falls 2 a pixel
    saturation: float = 1.25
    lift: float = 0.93
    line_pass: int = 2  # lines are drawn from L as it is after so many passes
    line_sigma: float = 1.1
    line_threshold: float = 0.65
    line_sharpness: float = 0.45
    line_flow: float = 4.0
    ink: float = 0.8


CEL = Look()


def render(rgb: Picture, look: Look = CEL) -> Picture:
    """RGB (H, W, 3) uint8 -> RGB (H, W, 3) uint8, sides of 16 or more. Pure: same photo, same picture."""
    lab = np.asarray(cv2.cvtColor(rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB), np.float32)
    flow = tangents(lab[..., 0], look.tensor_sigma)
    across = np.stack([flow[..., 1], -flow[..., 0]], 2)
    passes = [lab]
    for _ in range(look.passes):
        smooth = bilateral(passes[-1], across, look.across_sigma, look.colour_sigma)
        passes.append(bilateral(smooth, flow, look.along_sigma, look.colour_sigma))
    light = lift(quantise(passes[-1][..., 0], look), look.lift)
    light = light * (1 - look.ink * ink(passes[look.line_pass][..., 0], flow, look))
    out = cv2.cvtColor(np.dstack([light, saturate(passes[-1][..., 1:], look.saturation)]), cv2.COLOR_LAB2RGB)
    return np.rint(np.clip(out, 0, 1) * 255).astype(np.uint8)


def tangents(light: Plane, sigma: float) -> Plane:
    """L (H, W) -> unit vectors (x, y) along edges (H, W, 2): the structure tensor's minor eigenvector."""
    gx, gy = _gradient(light)
    xx, yy, xy = (_blur(p, sigma) for p in (gx * gx, gy * gy, gx * gy))
    angle = 0.5 * np.arctan2(2 * xy, xx - yy) + np.pi / 2
    return np.dstack([np.cos(angle), np.sin(angle)]).astype(np.float32)


def bilateral(lab: Plane, direction: Plane, sigma: float, colour_sigma: float) -> Plane:
    """Lab (H, W, 3) averaged along each pixel's `direction` (H, W, 2), near colours only."""
    total, weights = lab.copy(), np.ones(lab.shape[:2], np.float32)
    spread = 2 * np.square(colour_sigma * _eye(lab[..., 0]))
    for step in range(1, round(2 * sigma) + 1):
        for sign in (1, -1):
            there = _sample(lab, direction * (sign * step))
            distance = np.square(there - lab).sum(2)
            weight = np.exp(-(step**2) / (2 * sigma**2) - distance / spread)
            total += weight[..., None] * there
            weights += weight
    return np.asarray(total / weights[..., None], np.float32)


def quantise(light: Plane, look: Look) -> Plane:
    """L (H, W) -> L drawn to the nearest multiple of 100 / bins, the harder the steeper the picture is there.

    Continuous in L: between two plateaus it is a tanh, so that noise on a slope makes no specks.
    """
    width = 100 / look.bins
    steep = _blur(np.hypot(*_gradient(light)), 2)
    low, high = look.slope
    slope = low + (high - low) * np.clip(steep / 2, 0, 1)
    middle = np.floor(light / width) * width + width / 2
    rise = np.tanh(slope * (light - middle) / (width / 2)) / np.tanh(slope)
    return np.asarray(middle + width / 2 * rise, np.float32)


def lift(light: Plane, power: float) -> Plane:
    """L -> L with brighter middle tones; black and white stay."""
    return np.asarray(100 * np.clip(light / 100, 0, 1) ** power, np.float32)


def ink(light: Plane, flow: Plane, look: Look) -> Plane:
    """L (H, W) -> ink (H, W) in [0, 1], where L is darker than its surroundings across the flow."""
    narrow, wide = (_blur(light, s * look.line_sigma) for s in (1, 1.6))
    darker = _integrate((wide - narrow) / _eye(wide), flow, look.line_flow)
    return np.asarray(np.clip(np.tanh(look.line_sharpness * (darker - look.line_threshold)), 0, 1), np.float32)


def saturate(ab: Plane, gain: float) -> Plane:
    """(a, b) (H, W, 2) scaled along their own hue; vivid colours less, or they would leave RGB and turn."""
    chroma = np.linalg.norm(ab, axis=2, keepdims=True)
    return np.asarray(ab * (1 + (gain - 1) * np.exp(-((chroma / 55) ** 2))), np.float32)


def _eye(light: Plane) -> Plane:
    """L -> the size of a difference that counts as one there: in the shadows a third of it in daylight."""
    return np.asarray(np.clip(light / 60, 0.33, 1), np.float32)


def _blur(values: Plane, sigma: float) -> Plane:
    return np.asarray(cv2.GaussianBlur(values, (0, 0), sigma), np.float32)


def _gradient(light: Plane) -> tuple[Plane, Plane]:
    """L (H, W) -> its slope per pixel to the right and downwards."""
    gx, gy = (cv2.Sobel(light, cv2.CV_32F, x, 1 - x, ksize=3, scale=1 / 8) for x in (1, 0))
    return np.asarray(gx, np.float32), np.asarray(gy, np.float32)


def _integrate(values: Plane, flow: Plane, sigma: float) -> Plane:
    """Gaussian mean of (H, W) along the curved streamlines of `flow`."""
    total, weights = values.copy(), 1.0
    for sign in (1, -1):
        heading, offset = sign * flow, np.zeros_like(flow)
        for step in range(1, round(2 * sigma) + 1):
            offset = offset + heading
            weight = float(np.exp(-(step**2) / (2 * sigma**2)))
            total, weights = total + weight * _sample(values, offset), weights + weight
            there = _sample(flow, offset, cv2.INTER_NEAREST)
            # A tangent has no sign of its own: take the one that goes on the way we came.
            heading = np.where((there * heading).sum(2, keepdims=True) < 0, -there, there)
    return np.asarray(total / weights, np.float32)


def _sample(values: Plane, offset: Plane, how: int = cv2.INTER_LINEAR) -> Plane:
    """`values` at each pixel plus its own offset (H, W, 2), reflected at the border."""
    height, width = values.shape[:2]
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    there = cv2.remap(values, x + offset[..., 0], y + offset[..., 1], how, borderMode=cv2.BORDER_REFLECT_101)
    return np.asarray(there, np.float32)
