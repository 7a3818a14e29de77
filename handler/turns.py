"""Waiting for a conversion, as long as somebody waits for its answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

T = TypeVar("T")


async def awaited(future: Future[T], request: Request) -> T:
    """Its result. Raises ClientDisconnect if the client leaves before the work's turn, which is then never done.

    Work under way goes on, as threads cannot be stopped.
    """
    result, leaving = asyncio.wrap_future(future), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((result, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not result.done() and future.cancel():
            raise ClientDisconnect
        return await result
    finally:
        leaving.cancel()
        future.cancel()  # at once: the loop of a server that is stopped may not come to pass on that of `result`
        result.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
