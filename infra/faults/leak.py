"""A leak, put around the real function from outside: each conversion leaves memory behind that nothing frees.

`python -m infra.faults.leak MIB serve …` is `animegan serve …` with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

Handler = Callable[[Any, Any], Any]
MIB = 1024 * 1024


class Leak:
    """Memory that is kept; it is written to, so that it is resident."""

    def __init__(self, mib: float) -> None:
        self._bytes, self._kept = int(mib * MIB), list[bytes]()

    def __call__(self) -> None:
        if self._bytes:
            self._kept.append(b"\1" * self._bytes)

    @property
    def mib(self) -> float:
        return sum(map(len, self._kept)) / MIB


class LeakingApp:
    """An ASGI application that leaks at each POST."""

    def __init__(self, app: ASGIApp, leak: Leak) -> None:
        self._app, self._leak = app, leak

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            self._leak()
        await self._app(scope, receive, send)


def leaking(handler: Handler, leak: Leak) -> Handler:
    """A Lambda handler that leaks at each event."""

    def handle(event: Any, context: Any) -> Any:
        leak()
        return handler(event, context)

    return handle


def main(mib: float, arguments: list[str]) -> int:
    """`animegan` with these arguments. The built-in style has to be frozen already."""
    import handler.main as function
    from infra.cli import main as animegan

    function.app = LeakingApp(function.app, Leak(mib))  # type: ignore[assignment]
    return animegan(arguments)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
