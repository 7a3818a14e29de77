"""`animegan pull NAME`: fetch a published checkpoint, resume if cut, verify its git blob id, freeze it.

PullError                     (a ModelError, see registry.py)
├── NoConnection              the host cannot be reached, or the address is no web address
├── ServerRefused             it answered, but not with the file
├── Interrupted               the stream ended early; what came is kept, the next pull resumes there
├── TooLarge                  more bytes than any checkpoint of this generator has
└── CorruptDownload           complete, but not the file that the registry names; removed
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from layers.model.freeze import freeze_style
from layers.model.registry import Manifest, ModelError, Style, find_style

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all if known

TIMEOUT_S = 30.0  # for one connect or read, not for the whole file
CHUNK_BYTES = 64 * 1024
MAX_BYTES = 64 * 1024 * 1024  # published checkpoints have 8.6 MB; a float64 one would have 17
CHECKPOINTS = ".checkpoints"  # inside the styles directory, so that a new torch can freeze again offline


class PullError(ModelError):
    """A checkpoint that could not be fetched."""


class NoConnection(PullError):
    """Nobody answered."""


class ServerRefused(PullError):
    """An answer without the file."""


class Interrupted(PullError):
    """The connection broke part way; the part is kept."""


class TooLarge(PullError):
    """An answer over MAX_BYTES."""


class CorruptDownload(PullError):
    """All bytes came, and they are not the file."""


def _silent(done: int, total: int | None) -> None: ...


def pull(
    name: str,
    styles_dir: Path,
    *,
    announce: Callable[[str], None],
    progress: Progress = _silent,
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


def download(style: Style, into: Path, *, url: str | None = None, progress: Progress = _silent) -> Path:
    """`into/NAME.pt`, verified. Present and right: no request is made. Begun before: resumed.

    Raises PullError, OSError (disk).
    """
    target = into / f"{style.name}.pt"
    if _is_blob(target, style.blob_id):
        return target
    into.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".pt.part")
    if not _is_blob(part, style.blob_id):  # complete if a pull was killed just before the rename
        _fetch(url or style.url or "", part, progress)
    if not _is_blob(part, style.blob_id):
        found, size = blob_id(part), part.stat().st_size
        _discard(part)
        raise CorruptDownload(
            f"{style.name}: the {size:,} bytes that came have git blob id {found}, not {style.blob_id}, and "
            "were removed. Pull again; if it stays so, the file was replaced or a proxy answers for it"
        )
    part.replace(target)
    _discard(part)
    return target


def blob_id(path: Path) -> str:
    """Git's id of a file's content: SHA-1 of "blob <size>", a zero byte and the bytes (Pro Git, ch. 10.2)."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _is_blob(path: Path, wanted: str | None) -> bool:
    return path.is_file() and blob_id(path) == wanted


def _fetch(url: str, part: Path, progress: Progress) -> None:
    """Bring `part` to its full length, from where it ends if the server agrees, else from the start."""
    have = part.stat().st_size if part.is_file() else 0
    response = _open(url, part, have)
    if response is None:
        _discard(part)
        have, response = 0, _open(url, part, 0)
    if response is None or response.status not in (200, 206):
        status = response.status if response else "no range"
        raise ServerRefused(f"{url} answered {status} without the file: try again later or pass another url")
    try:
        with response:
            _save(response, part, have if response.status == 206 else 0, progress)
    except TooLarge:
        _discard(part)
        raise


def _open(url: str, part: Path, have: int) -> HTTPResponse | None:
    """The answer to a request for the bytes from `have` on; None if they cannot follow what `part` has."""
    try:
        response: HTTPResponse = urlopen(_request(url, part, have), timeout=TIMEOUT_S)
    except HTTPError as error:
        error.close()
        if error.code == 416 and have:
            return None
        raise ServerRefused(
            f"{url} answered {error.code} {error.reason}: the file may have moved, pass another url"
        ) from error
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise NoConnection(f"{url} cannot be reached ({reason}): check network, proxy and url") from error
    continues = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    if response.status == 206 and not continues:
        response.close()
        return None
    return response


def _request(url: str, part: Path, have: int) -> Request:
    if not url.startswith(("https://", "http://")):  # urlopen would read file:// too
        raise NoConnection(f"{url!r} is no http or https address: pass one as the url")
    request = Request(url, headers={"User-Agent": "animegan"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        if (etag := _etag(part)).is_file():
            request.add_header("If-Range", etag.read_text())
    return request


def _save(response: HTTPResponse, part: Path, have: int, progress: Progress) -> None:
    total = None if response.length is None else have + response.length
    _check_size(total or 0, response.url)
    if not have:
        _remember_etag(part, response.headers.get("ETag"))
    with part.open("ab" if have else "wb") as file:
        progress(have, total)
        for chunk in _chunks(response):
            file.write(chunk)
            have += len(chunk)
            progress(have, total)
            _check_size(have, response.url)
    if total is not None and have < total:  # read(n) meets an early end in silence
        raise Interrupted(f"the connection closed after {have:,} of {total:,} bytes: pull again to resume")


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    try:
        while chunk := response.read(CHUNK_BYTES):
            yield chunk
    except (OSError, HTTPException) as error:
        raise Interrupted(f"the connection broke ({error}): pull again to resume where it stopped") from error


def _check_size(size: int, url: str) -> None:
    if size > MAX_BYTES:
        raise TooLarge(f"{url} serves over {MAX_BYTES:,} bytes, so no checkpoint of this generator: check it")


def _remember_etag(part: Path, etag: str | None) -> None:
    """Keep a strong ETag for If-Range: the end of a changed file must not follow the start of the old one."""
    if etag and not etag.startswith("W/"):
        _etag(part).write_text(etag)
    else:
        _etag(part).unlink(missing_ok=True)


def _etag(part: Path) -> Path:
    return part.with_name(part.name + ".etag")


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _etag(part).unlink(missing_ok=True)
