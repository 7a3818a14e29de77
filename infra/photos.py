"""Paths on the command line -> the photos to convert, in a stable order.

A file named on the command line is tried whatever it looks like, but for a result beside its own photo, as `*.jpg`
names both at the second run. A folder is searched: files that look like pictures, by
extension or by their first bytes, are taken; hidden ones, our own results and everything else are counted
and left. Links to files count as files; links to folders inside a folder are not followed, so no loop is one.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from infra.errors import BadRequest
from infra.text import reason, shown

OURS = re.compile(r"(.*)\.anime\.(?:jpg|png|webp)", re.IGNORECASE | re.DOTALL)
EXTENSIONS = tuple(
    ".avif .bmp .dib .gif .heic .heif .jfif .jpe .jpeg .jpg .jxl .jp2 .png .tif .tiff .webp".split()  # noqa: SIM905
)
# Not TIFF, which most raw formats begin like, nor BMP, whose two letters begin many a text.
SIGNATURES = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF.{4}WEBP|.{4}ftyp(?:avif|avis|heic|heix|mif1|msf1)", re.DOTALL
)
# What browsers, copying programs and editors call a file until it is whole; it has a photo's first bytes already.
UNFINISHED = re.compile(r".*(?:~|\.(?:part|partial|crdownload|download|filepart|tmp|temp))", re.IGNORECASE)
NOT_A_FILE = "not a regular file"
HEAD_BYTES = 64  # the signatures are shorter


@dataclass(frozen=True, slots=True)
class Photo:
    """A file to convert; `relative` is its place below the folder that was given, `head` its first bytes."""

    path: Path
    relative: Path
    head: bytes = b""


@dataclass(slots=True)
class Found:
    """What the paths come to. `left` counts files of folders that are not converted, by reason."""

    photos: list[Photo] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[Path, str]] = field(default_factory=list)


def find(paths: Sequence[Path], out: Path | None) -> Found:
    """Look for photos in `paths`; below `out` nothing is looked for.

    Raises BadRequest where `out` is one of the folders to search, since results could not be told from photos.
    What is missing or unreadable comes back in `bad`.
    """
    found = Found()
    check_apart(paths, out)
    for path in paths:
        if os.path.isdir(path):  # not Path's, which raises where a folder on the way is closed
            _search(path, out, found)
        else:
            _take(found, path, Path(path.name))
    _drop_repeated(found)
    _drop_results(found)
    return found


def check_apart(paths: Sequence[Path], out: Path | None) -> None:
    """Raises BadRequest where `out` is one of the folders to search: results could not be told from photos."""
    for path in paths:
        if out is not None and os.path.isdir(path) and _same(path, out):
            raise BadRequest(
                f"{shown(out)} is both searched for photos and to be written to: choose another -o folder, "
                "or leave it out to get NAME.anime.* beside each photo"
            )


def _drop_repeated(found: Found) -> None:
    found.photos = list({os.path.abspath(photo.path): photo for photo in found.photos}.values())


def _drop_results(found: Found) -> None:
    names = {name for photo in found.photos for name in (photo.path, photo.path.with_name(photo.path.stem))}
    others: list[Photo] = []
    for photo in found.photos:
        ours = OURS.fullmatch(photo.path.name)
        if ours and photo.path.with_name(ours[1] or photo.path.name) in names - {photo.path}:
            found.left["already a result"] += 1
        else:
            others.append(photo)
    found.photos = others


def _search(folder: Path, out: Path | None, found: Found) -> None:
    for path in files(folder, out, found.bad):
        if why := why_left(path):
            found.left[why] += 1
        else:
            _take(found, path, path.relative_to(folder))


def files(folder: Path, out: Path | None, bad: list[tuple[Path, str]]) -> Iterator[Path]:
    """Every file below `folder`, in order, but for hidden folders and `out`; what cannot be read goes to `bad`."""

    def unreadable(error: OSError) -> None:
        bad.append((Path(error.filename), reason(error)))

    for parent, folders, names in os.walk(folder, onerror=unreadable):
        here = Path(parent)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not (out and _same(here / name, out))
        )
        yield from (here / name for name in sorted(names))


def why_left(path: Path) -> str | None:
    """Why a file of a folder is no photo to convert, or None if it looks like one."""
    if path.name.startswith("."):
        return "hidden"
    if OURS.fullmatch(path.name):
        return "already a result"
    if UNFINISHED.fullmatch(path.name):
        return "unfinished"
    if path.suffix.lower() in EXTENSIONS:
        return NOT_A_FILE if _why_unusable(path) == NOT_A_FILE else None  # other troubles are named
    return None if SIGNATURES.match(head(path)) else "not a picture"


def _take(found: Found, path: Path, relative: Path) -> None:
    if why := _why_unusable(path):
        found.bad.append((path, why))
    else:
        found.photos.append(Photo(path, relative, head(path)))


def _why_unusable(path: Path) -> str | None:
    """Only regular files are opened: a pipe could block for ever, and a device never end."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return reason(error)
    except ValueError:  # a NUL in the name
        return "not a file name"
    return None if stat.S_ISREG(mode) else NOT_A_FILE


def head(path: Path) -> bytes:
    """The first bytes; none if it cannot be read, which the conversion then reports."""
    try:
        if not os.path.isfile(path):
            return b""
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return b""


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
