"""What serves the conversions of a half: here, processes of `animegan serve`; in environments.py, the emulator."""

from __future__ import annotations

import http.client
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlencode

from infra.bench.server import SERVE, Server, serving
from infra.errors import BadRequest
from infra.faults.pictures import Wish
from infra.faults.scenario import Half

TIMEOUT_S = 120.0  # after which an answer is taken for lost
BUSY = 503


class Fleet(Protocol):
    def ask(self, client: int, wish: Wish) -> bool:
        """False where it was told to come back later. Raises BadRequest where it gets no picture at all."""

    def pids(self) -> list[int]:
        """Of the processes that there are now."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Clients are shared out among them."""

    running: Sequence[Server]

    def ask(self, client: int, wish: Wish) -> bool:
        server = self.running[client % len(self.running)]
        connection = http.client.HTTPConnection(server.host, server.port, timeout=TIMEOUT_S)
        try:
            headers = {"Content-Type": wish.type, "Accept": "image/*"}
            connection.request("POST", f"/convert?{urlencode(wish.query)}", wish.photo, headers)
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise BadRequest(f"an answer of `animegan serve` was lost: {error!r}") from None
        finally:
            connection.close()
        if response.status not in (200, BUSY):
            raise BadRequest(f"`animegan serve` answered {response.status}: {body[:200]!r}")
        return response.status != BUSY

    def pids(self) -> list[int]:
        return [server.process.pid for server in self.running]


@contextmanager
def servers(half: Half, environment: Mapping[str, str], log: Callable[[], Path]) -> Iterator[Servers]:
    """Ready; `log` gives a new file for each process. Raises BadRequest where one does not start."""
    leaky = (sys.executable, "-m", "infra.faults.leak", str(half.leak_mib), *SERVE[3:])
    command = leaky if half.leak_mib else SERVE
    with ExitStack() as stack:
        yield Servers([stack.enter_context(serving(command, environment, log())) for _ in range(half.processes)])
