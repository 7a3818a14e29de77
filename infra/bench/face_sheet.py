"""The sheet of `animegan bench faces`: each largest face as a photo, in the whole picture, and painted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infra import progress
from infra.errors import BadRequest
from infra.text import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from handler.face_frames import Frame

    Picture = NDArray[np.uint8]

ROOM = 1.2  # of what the sheet shows of a face, over its square
WIDTH = 1260  # of a sheet in pixels; two photos beside each other, three pictures of each
MOST_BYTES = 600_000


def around(photo: Picture, detector: Path) -> tuple[slice, slice]:
    """Rows and columns of a square with the largest face of a photo, which has one."""
    from handler.face_detector import Detector
    from handler.face_frames import frame

    size = (photo.shape[1], photo.shape[0])
    found = [frame(face, size) for face in Detector(detector)(photo)]
    return _square(max(found, key=lambda frame: frame.side), size)


def _square(frame: Frame, size: tuple[int, int]) -> tuple[slice, slice]:
    """A square with the face, within a picture of (width, height)."""
    side = min(round(frame.side * ROOM), *size)
    left, top = (
        min(max(round(middle - side / 2), 0), most - side) for middle, most in zip(frame.centre, size, strict=True)
    )
    return slice(top, top + side), slice(left, left + side)


def write(path: Path, rows: Sequence[Sequence[Picture]]) -> None:
    """The faces, two photos a line. Raises BadRequest where no face was painted."""
    import cv2
    import numpy as np

    if not rows:
        raise BadRequest(f"no face was painted, so {shown(path)} was not written")
    side = WIDTH // 6
    tiles = [[cv2.resize(cut, (side, side), interpolation=cv2.INTER_AREA) for cut in row] for row in rows]
    bands = [np.hstack(row) for row in tiles]
    bands += [np.full_like(bands[0], 255)] * (len(bands) % 2)
    sheet = np.vstack([np.hstack(bands[n : n + 2]) for n in range(0, len(bands), 2)])
    for quality in range(90, 40, -5):
        data = cv2.imencode(".jpg", np.ascontiguousarray(sheet[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        if len(data) <= MOST_BYTES:
            break
    path.write_bytes(data.tobytes())
    progress.plain(f"animegan: {shown(path)} has each photo, its conversion as a whole, and with faces painted")
