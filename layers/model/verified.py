"""A file with a known digest, fetched unless it is there. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from layers.model.errors import CorruptDownload
from layers.model.fetch import Progress, discard, fetch, silent


def verified(
    name: str,
    target: Path,
    kind: str,
    digest: Callable[[Path], str],
    wanted: str,
    url: str,
    progress: Progress = silent,
) -> Path:
    """`target` with the bytes whose `digest`, called `kind`, is `wanted`: as it is there, or from `url`.

    Raises PullError, OSError (disk).
    """

    def is_right(path: Path) -> bool:
        return path.is_file() and digest(path) == wanted

    if is_right(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    if not is_right(part):  # complete if a pull was killed just before the rename
        fetch(url, part, progress)
    if not is_right(part):
        found, size = digest(part), part.stat().st_size
        discard(part)
        raise CorruptDownload(
            f"{name}: the {size:,} bytes that came have {kind} {found}, not {wanted}, and were removed. Pull "
            "again; if it stays so, the file was replaced or a proxy answers for it"
        )
    part.replace(target)
    discard(part)
    return target
