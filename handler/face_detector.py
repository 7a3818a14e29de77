"""Faces of a picture, found by OpenCV's YuNet. Its file does not ship with us: see `animegan pull yunet`."""

from __future__ import annotations

import hashlib
import math
import stat
import threading
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from cv2.utils import logging
from numpy.typing import NDArray

from handler.alpha import Pixels
from handler.errors import NotConfigured
from handler.face_frames import Face, cut, frame, moved

SHA256 = "8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4"  # of face_detection_yunet_2023mar.onnx
LONG_SIDE = 640  # of the copy that is searched: 20 to 30 ms, and faces of a thirtieth of the picture are found
LEAST_SCORE = 0.7  # of faces large enough to be painted, the least sure ones (profiles) had 0.79 in our trials
OVERLAP = 0.3  # of two boxes (intersection over union) that are taken for one face
MOST_BOXES = 1000
MOST_CLOSELY, LEAST_CLOSELY = 8, 64  # the largest faces are looked at twice, if their square has so many pixels
CLOSE_SIDE = 256  # of the square as it is searched, 5 ms

Stamp = tuple[int, int, int]


class Detector:
    """Finds faces; loaded at its first use. Thread-safe: OpenCV's object keeps the size of its input."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._whole: dict[Stamp | None, bool] = {None: False}

    def check(self) -> None:
        """Raises NotConfigured where the file is missing or not the detector's."""
        with self._lock:
            _ = self._net

    def is_whole(self) -> bool:
        """Whether the file is the detector's; its bytes are looked at once for as long as it stays the same."""
        stamp = _stamp(self._path)
        with self._lock:
            if stamp not in self._whole:
                self._whole = {None: False, stamp: _is_known(self._path)}
            return self._whole[stamp]

    def __call__(self, rgb: Pixels) -> tuple[Face, ...]:
        """Faces of an H×W×3 picture, the largest first. Raises NotConfigured."""
        found = sorted(self._search(searched(rgb)), key=lambda face: -face.height)
        closely = [self._closely(rgb, face) for face in found[:MOST_CLOSELY]]
        return (*closely, *found[MOST_CLOSELY:])

    def _search(self, rgb: Pixels) -> list[Face]:
        height, width = rgb.shape[:2]
        with self._lock:
            self._net.setInputSize((width, height))
            rows = self._net.detect(cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))[1]
        return [_face(row, width, height) for row in ([] if rows is None else rows)]

    def _closely(self, rgb: Pixels, face: Face) -> Face:
        """The face as it is found in its own square, enlarged and nearly upright. YuNet makes of a tilt about half
        of what it is (30° become 11° to 23°), and does so again with the rest.
        """
        size = (rgb.shape[1], rgb.shape[0])
        before = frame(face, size)
        if before.side < LEAST_CLOSELY:
            return face
        square = replace(before, side=before.side * 1.3)
        if not (found := self._search(cut(rgb, square, CLOSE_SIDE))):
            return face
        nearest = min(found, key=lambda face: math.dist(face.points[2], (0.5, 0.5)))
        after = frame(better := moved(nearest, square, size), size)
        same = math.dist(before.centre, after.centre) < before.side / 4 and 0.6 < after.side / before.side < 1.6
        return better if same else face

    @cached_property
    def _net(self) -> Any:
        """The network. OpenCV 5.0 warns of a target that nobody asked for, so it is kept quiet meanwhile."""
        model, config = _model(self._path), np.empty(0, np.uint8)
        before = logging.setLogLevel(logging.LOG_LEVEL_ERROR)
        try:
            net = cv2.FaceDetectorYN.create("onnx", model, config, (32, 32), LEAST_SCORE, OVERLAP, MOST_BOXES)
            net.detect(np.zeros((32, 32, 3), np.uint8))
        finally:
            logging.setLogLevel(before)
        return net


def _model(path: Path) -> NDArray[np.uint8]:
    """The file's bytes, which must be those that we know: OpenCV reads damaged ones too, and of 3000 some 70 ended
    the process, and 50 found faces that were larger than all pictures. Raises NotConfigured.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise NotConfigured(
            f"Face painting needs a face detector, and there is none at {path} (FACE_DETECTOR: "
            f"{error.strerror}): `animegan pull yunet` fetches it. Or leave face out."
        ) from None
    if (found := hashlib.sha256(data).hexdigest()) != SHA256:
        raise NotConfigured(
            f"{path} (FACE_DETECTOR) is no YuNet detector (its SHA-256 is {found[:8]}…, and that of "
            f"face_detection_yunet_2023mar.onnx {SHA256[:8]}…): pull it again."
        )
    return np.frombuffer(data, np.uint8)


def _is_known(path: Path) -> bool:
    try:
        _model(path)
    except NotConfigured:
        return False
    return True


def _stamp(path: Path) -> Stamp | None:
    """What changes with a file, None where there is none: only regular ones are read, as a pipe could block."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def searched(rgb: Pixels) -> Pixels:
    """The picture as it is searched: its long side at most LONG_SIDE."""
    height, width = rgb.shape[:2]
    if (scale := LONG_SIDE / max(height, width)) >= 1:
        return rgb
    size = (max(round(width * scale), 1), max(round(height * scale), 1))
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def _face(row: Any, width: int, height: int) -> Face:
    """One row of FaceDetectorYN::detect: x, y, width and height of the box, five points, score; in pixels."""
    right_eye, left_eye, nose, right_mouth, left_mouth = (
        (float(x) / width, float(y) / height) for x, y in zip(row[4:14:2], row[5:14:2], strict=True)
    )
    return Face((right_eye, left_eye, nose, right_mouth, left_mouth), float(row[3]) / height, float(row[14]))
