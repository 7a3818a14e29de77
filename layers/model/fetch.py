"""One file over HTTP, resumable: `PART` holds what came so far, `PART.etag` which version of the file it is of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from layers.model.errors import Interrupted, NoConnection, ServerRefused, TooLarge

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all if known

TIMEOUT_S = 30.0  # for one connect or read, not for the whole file
CHUNK_BYTES = 64 * 1024
MAX_BYTES = 64 * 1024 * 1024  # published checkpoints have 8.6 MB; a float64 one would have 17


def silent(done: int, total: int | None) -> None:
    """The progress that nobody watches."""


def fetch(url: str, part: Path, progress: Progress) -> None:
    """Bring `part` to its full length, from where it ends if the server agrees, else from the start."""
    have = part.stat().st_size if part.is_file() else 0
    response = _open(url, part, have)
    if response is None:
        discard(part)
        have, response = 0, _open(url, part, 0)
    if response is None:
        raise ServerRefused(f"{url} answers with a part that nobody asked for: pass another url")
    try:
        with response:
            _save(response, part, have if response.status == 206 else 0, progress)
    except TooLarge:
        discard(part)
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
    if response.status == 200 or _continues(response, have):
        return response
    response.close()
    if response.status == 206:
        return None
    raise ServerRefused(f"{url} answered {response.status} without the file: try again later or pass another url")


def _continues(response: HTTPResponse, have: int) -> bool:
    return response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")


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


def discard(part: Path) -> None:
    """Remove `part` and what is remembered of it."""
    part.unlink(missing_ok=True)
    _etag(part).unlink(missing_ok=True)
