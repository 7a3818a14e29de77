"""S3 for the emulator: moto's server behind a proxy that takes its time."""

from __future__ import annotations

import http.client
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from infra.errors import BadRequest, NotInstalled
from infra.faults.pictures import Wish
from infra.faults.proxy import Proxy, proxy
from infra.local_s3 import ENVIRONMENT

EVENT = Path(__file__).parents[1] / "events" / "s3_notification.json"


class Store:
    """A bucket of its own, as moto keeps all of a process's. `proxy` is what the function gets to see of it."""

    def __init__(self, address: str, before: Proxy) -> None:
        self._address, self.proxy = address, before
        self._numbers = count(1)
        self.bucket = f"photos-{uuid.uuid4().hex[:8]}"
        self._put(f"/{self.bucket}", b"", {})

    @property
    def environment(self) -> dict[str, str]:
        return {**ENVIRONMENT, "AWS_ENDPOINT_URL": self.proxy.url, "AWS_ENDPOINT_URL_S3": self.proxy.url}

    def event(self, wish: Wish) -> dict[str, Any]:
        """The photo is put under a key of its own; what S3 then tells the function."""
        key = f"{next(self._numbers):06}.{wish.extension}"
        self._put(f"/{self.bucket}/{key}", wish.photo, {"Content-Type": wish.type})
        event: dict[str, Any] = json.loads(EVENT.read_text())
        said = event["Records"][0]["s3"]
        said["bucket"]["name"], said["object"]["key"], said["object"]["size"] = self.bucket, key, len(wish.photo)
        return event

    def _put(self, path: str, data: bytes, headers: dict[str, str]) -> None:
        connection = http.client.HTTPConnection(self._address)
        try:
            connection.request("PUT", path, data, headers)
            status = connection.getresponse().status
        finally:
            connection.close()
        if status != 200:
            raise BadRequest(f"moto's server answered {status} to PUT {path}")


@contextmanager
def store() -> Iterator[Store]:
    """While the block runs. Raises NotInstalled."""
    import logging

    try:
        from moto.server import ThreadedMotoServer
    except ImportError:
        raise NotInstalled("runs with S3 need moto's server: pip install 'animegan-lambda[s3]'") from None
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line per request
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        with proxy(f"http://{host}:{port}") as before:
            yield Store(f"{host}:{port}", before)
    finally:
        server.stop()
