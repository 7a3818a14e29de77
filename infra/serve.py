"""`animegan serve`: the function's ASGI application behind uvicorn."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress

from infra import interrupts
from infra.errors import BadRequest, NotInstalled

GRACE_S = 30  # for conversions under way at Ctrl-C or SIGTERM


def serve(host: str, port: int, say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM. Raises BadRequest (address), NotInstalled, SettingsError, StyleError."""
    try:
        import uvicorn
    except ImportError as error:
        raise NotInstalled("serving needs uvicorn: pip install 'animegan-lambda[cli]'") from error
    with listen(host, port) as sock:  # before the model, which takes seconds to load
        from handler.main import app

        config = uvicorn.Config(app, lifespan="off", timeout_graceful_shutdown=GRACE_S)
        say(f"animegan: serving on http://{_address(sock)} (Ctrl-C stops)")
        # uvicorn has shut down by then and passes the signal on.
        with suppress(KeyboardInterrupt), interrupts.raised():
            uvicorn.Server(config).run(sockets=[sock])


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises BadRequest, which says what to do, where there can be none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        sock = socket.create_server((host, port), family=family, backlog=2048)
        # Connections inherit it. asyncio sets it only on sockets that it made itself, and without it the end of an
        # answer waits up to 40 ms for the acknowledgement of its beginning.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    except (OSError, OverflowError) as error:
        known = isinstance(error, OSError) and not isinstance(error, socket.gaierror) and error.errno
        why = os.strerror(known) if known else getattr(error, "strerror", None) or str(error)
        raise BadRequest(
            f"cannot listen on {host} port {port}: {why}; choose another with --host and --port"
        ) from None


def _address(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
