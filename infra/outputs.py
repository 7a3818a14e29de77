"""Where each picture goes: names that no two photos share and that are no photo's own, written all or nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from infra.aside import aside
from infra.photos import Photo
from infra.text import shown

EXTENSIONS = {"jpeg": "jpg", "png": "png", "webp": "webp"}
SIGNATURES = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png", b"RIFF": "webp"}


class Taken(Exception):
    """A name that cannot be used; the message says why."""


class Targets:
    """Output names for a batch.

    A photo `a.jpg` becomes `a.anime.jpg` beside it, or `a.jpg` at the same place below `out`. Photos that differ
    in their extension alone and would share that name keep it: `a.gif.anime.png` and `a.png.anime.png`.

    `before` has the names of photos that came earlier: those go on, and nobody else gets them, even if their photo
    has gone.
    """

    def __init__(
        self, photos: Sequence[Photo], out: Path | None, format: str | None, before: Targets | None = None
    ) -> None:
        self._out = out
        self._expected = {photo.path: format or own_format(photo.head) for photo in photos}
        self._shared = Counter(self._name(photo, self._expected[photo.path], False) for photo in photos)
        self._sources = {_identity(photo.path) for photo in photos} - {None}
        self._given: dict[str, Path] = before._given if before else {}

    def claim(self, photo: Photo, format: str | None = None) -> Path:
        """The name for a photo's picture in `format` (the expected one without it), now this photo's.

        Raises Taken where another photo has it, or where it is itself one of the photos.
        """
        expected = self._expected[photo.path]
        names = {self._name(photo, kind, False) for kind in (expected, format or expected)}
        owner = self._owner(short := self._name(photo, format or expected, False))
        shared = any(self._shared[name] > 1 for name in names) or owner is not None
        target = self._name(photo, format or expected, True) if shared and owner != photo.path else short
        if _identity(target) in self._sources:
            raise Taken(f"its picture would replace the photo {shown(target)}: choose another -o folder")
        self._given.setdefault(os.path.abspath(target), photo.path)
        if (owner := self._owner(target)) != photo.path:
            raise Taken(f"{shown(target)} is the name for {shown(owner)} already: give each its own -o folder")
        return target

    def _owner(self, target: Path) -> Path | None:
        return self._given.get(os.path.abspath(target))

    def _name(self, photo: Photo, format: str, whole: bool) -> Path:
        stem = photo.path.name if whole else photo.path.stem
        if self._out is None:
            return photo.path.with_name(f"{stem}.anime.{EXTENSIONS[format]}")
        return self._out / photo.relative.with_name(f"{stem}.{EXTENSIONS[format]}")


def own_format(head: bytes) -> str:
    """The format that the function answers in when none is asked for: the photo's own, or PNG."""
    return next((kind for magic, kind in SIGNATURES.items() if head.startswith(magic)), "png")


def write(target: Path, data: bytes) -> None:
    """Write a file by rename, so that a killed process leaves the old one or none, never half. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = aside(target)
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
