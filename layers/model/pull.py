"""`animegan pull NAME`: fetch a published checkpoint, verify its git blob id, show its licence, freeze it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

from layers.model.fetch import Progress, silent
from layers.model.freeze import freeze_style
from layers.model.manifest import Manifest
from layers.model.registry import Style, find_style
from layers.model.verified import verified

CHECKPOINTS = ".checkpoints"  # inside the styles directory, so that a new torch can freeze again offline
CHUNK_BYTES = 1024 * 1024


def pull(
    name: str,
    styles_dir: Path,
    *,
    announce: Callable[[str], None],
    progress: Progress = silent,
    url: str | None = None,
    registry: Mapping[str, Style] | None = None,
) -> Manifest:
    """Install the style `name` into `styles_dir`; `announce` is given the licence before it is frozen.

    `url` is a mirror to use instead of the registry's address; the blob id must be the same. Raises
    UnknownStyleName, PullError, FreezeError, OSError.
    """
    style = find_style(name, registry)
    checkpoint = style.checkpoint or download(style, styles_dir / CHECKPOINTS, url=url, progress=progress)
    announce(f"{style.title} ({style.name}), {style.source}\n{style.licence.strip()}")
    return freeze_style(style, checkpoint, styles_dir)


def download(style: Style, into: Path, *, url: str | None = None, progress: Progress = silent) -> Path:
    """`into/NAME.pt`, verified. Present and right: no request is made. Begun before: resumed.

    Raises PullError, OSError (disk).
    """
    target = into / f"{style.name}.pt"
    return verified(
        style.name, target, "git blob id", blob_id, style.blob_id or "", url or style.url or "", progress
    )


def blob_id(path: Path) -> str:
    """Git's id of a file's content: SHA-1 of "blob <size>", a zero byte and the bytes (Pro Git, ch. 10.2)."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
