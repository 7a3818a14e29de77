"""`animegan bench faces`: whole-picture conversion and face painting side by side, and what the latter costs."""

from __future__ import annotations

import io
import json
from argparse import Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra import progress, styles
from infra.arguments import Adder, new, whole
from infra.bench import face_sheet, machine
from infra.bench.pipeline import pipeline
from infra.bench.table import markdown, pairs
from infra.errors import BadRequest
from infra.photos import find
from infra.text import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from handler.converter import Converter

    Picture = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Row:
    """What one photo took; milliseconds, and pixels of the largest face's height."""

    photo: str
    width: int
    height: int
    faces: int
    painted: int
    largest: int
    detection: float
    face: float
    inference: float
    warnings: tuple[str, ...]


def add(adder: Adder) -> None:
    command = new(
        adder, "faces", faces, "faces converted with the whole picture, and painted apart", "as a JSON array"
    )
    add = command.add_argument
    add("photos", nargs="+", type=Path, metavar="PHOTO", help="a file, or a folder to search through")
    add("--style", metavar="NAME", help="see `animegan styles`; default: STYLE, or cel")
    add("--size", type=whole(1), metavar="PIXELS", help="long side of the pictures")
    add("--sheet", type=Path, metavar="FILE.jpg", help="each largest face: photo, whole picture, painted")


def faces(args: Namespace) -> int:
    """0 when every photo was converted both ways. Raises NotInstalled, BadRequest, and ConversionErrors."""
    found = find(args.photos, None)
    if found.bad or not found.photos:
        raise BadRequest("; ".join(f"{shown(path)}: {why}" for path, why in found.bad) or "there is no photo")
    converter = pipeline(**{"style": args.style} if args.style else {})
    styles.check_detector(converter.settings.detector)
    rows, cuts = [], []
    for photo in found.photos:
        row, shows = _compare(converter, photo.path, args.size)
        progress.plain(f"animegan: {shown(photo.path)}: {row.painted} of {row.faces} faces painted")
        rows.append(row)
        cuts += [shows] if shows else []
    print(json.dumps([asdict(row) for row in rows], indent=2) if args.json else _text(rows))
    if args.sheet:
        face_sheet.write(args.sheet, cuts)
    return 0


def _compare(converter: Converter, path: Path, size: int | None) -> tuple[Row, tuple[Picture, ...]]:
    """The row, and the largest face in photo, whole picture and painted one; nothing where none was painted."""
    from handler.convert import ConversionRequest
    from handler.lines import Caller

    request = ConversionRequest(path.read_bytes(), converter.settings.style, "png", size, side_by_side=True)
    log = io.StringIO()
    with redirect_stdout(log):
        whole = converter(request, Caller("bench"))
        painted = converter(replace(request, face=True), Caller("bench"))
    line = json.loads(log.getvalue().splitlines()[-1])
    photo, plain = _halves(whole.data)
    shows: tuple[Picture, ...] = ()
    if line["faces_painted"]:
        area = face_sheet.around(photo, converter.settings.detector)
        shows = tuple(picture[area] for picture in (photo, plain, _halves(painted.data)[1]))
    return _row(path, photo, line, painted.warnings), shows


def _row(path: Path, photo: Picture, line: dict[str, Any], warnings: tuple[str, ...]) -> Row:
    return Row(
        photo=path.name,
        width=photo.shape[1],
        height=photo.shape[0],
        faces=line["faces"],
        painted=line["faces_painted"],
        largest=line.get("largest_face", 0),
        detection=line["detection_ms"],
        face=line["FaceDuration"][0],
        inference=line["InferenceDuration"][0],
        warnings=warnings,
    )


def _halves(data: bytes) -> tuple[Picture, Picture]:
    """Photo and picture of a side-by-side PNG, RGB."""
    from handler import image

    both = image.decode(data, image.check(data, len(data), 2**31), 2**16).rgb
    return both[:, : both.shape[1] // 2], both[:, both.shape[1] // 2 :]


def _text(rows: Sequence[Row]) -> str:
    columns = ("photo", "size", "faces", "painted", "largest px", "finding ms", "faces ms", "whole picture ms")
    cells = [
        (
            *(row.photo, f"{row.width}×{row.height}", row.faces, row.painted, row.largest),
            *(f"{spent:,.0f}" for spent in (row.detection, row.face, row.inference)),
        )
        for row in rows
    ]
    return f"{pairs(machine.described())}\n\n{markdown(columns, cells)}"
