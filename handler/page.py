"""GET /: the page, and the files that it is made of.

The page is index.html with links to static/VERSION/…, relative ones, so that it works below any prefix. VERSION is
a digest of all the files, which may therefore be kept for ever; the page itself is asked for anew each time.
Nothing is read, and boto3 not imported, before somebody opens the page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from handler.converter import Converter
from handler.errors import ConversionError
from handler.settings import UPLOADS, Settings

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
READ = ["GET", "HEAD"]
FOR_EVER = "public, max-age=31536000, immutable"
ASK_FIRST = "no-cache"  # it may be kept, but has to be asked for whether it is still the same

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src {}; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "geolocation=(), microphone=()",
}


def page_routes(converter: Converter) -> APIRouter:
    """The page and its files, which are no part of the API's document."""
    router, page = APIRouter(include_in_schema=False), Page(converter.settings)

    @router.api_route("/", methods=READ)
    async def index(request: Request) -> Response:
        policy = POLICY.format(" ".join(["'self'", *await run_in_threadpool(page.buckets)]))
        return answer(request, INDEX, page.html, ASK_FIRST, {**HEADERS, "Content-Security-Policy": policy})

    @router.api_route("/static/{version}/{name}", methods=READ)
    async def file(request: Request, version: str, name: str) -> Response:
        if name not in page.files:
            raise HTTPException(404)
        keep = FOR_EVER if version == page.version else ASK_FIRST  # while one version replaces another
        return answer(request, name, page.files[name], keep, HEADERS)

    return router


class Page:
    """Its files as bytes by name, and where else its scripts may go."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._buckets: list[str] | None = None

    @cached_property
    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(FOLDER.iterdir()) if path.suffix in TYPES}

    @cached_property
    def version(self) -> str:
        return hashlib.sha256(b"\0".join(self.files.values())).hexdigest()[:16]

    @cached_property
    def html(self) -> bytes:
        return self.files[INDEX].replace(b'"static/', f'"static/{self.version}/'.encode())

    def buckets(self) -> list[str]:
        """Origins that photos are uploaded to and pictures fetched from, as boto3 makes them.

        None without uploads, nor where boto3 cannot work, since POST /uploads then tells why.
        """
        if not self._settings.upload_bucket:
            return []
        if self._buckets is None:
            try:
                self._buckets = self._asked()
            except ConversionError:
                return []
        return self._buckets

    def _asked(self) -> list[str]:
        from handler.storage import storage  # a quarter of a second, which POST /uploads saves again

        upload, output = self._settings.upload_bucket, self._settings.output_bucket
        form, _ = storage().form(upload, UPLOADS, {}, 1, 60)
        links = [storage().link(bucket, UPLOADS, 60) for bucket in (upload, output or upload)]
        return sorted(set(map(_origin, [form, *links])))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def answer(request: Request, name: str, body: bytes, keep: str, more: Mapping[str, str]) -> Response:
    """The file, or 304 where the client has it. The ETag is of the headers too, as a 304 cannot renew a policy."""
    tag = f'"{hashlib.sha256(repr(more).encode() + body).hexdigest()[:32]}"'
    headers = {**more, "ETag": tag, "Cache-Control": keep}
    if _has(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    headers["Content-Length"] = str(len(body))
    sent = b"" if request.method == "HEAD" else body
    return Response(sent, headers=headers, media_type=TYPES[Path(name).suffix])


def _has(known: str, tag: str) -> bool:
    """If-None-Match, by weak comparison (RFC 9110, 13.1.2)."""
    return known.strip() == "*" or tag in (one.strip().removeprefix("W/") for one in known.split(","))
