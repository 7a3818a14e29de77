"""Clients of a server: each asks for a conversion as soon as it has its last picture, and one for /health."""

from __future__ import annotations

import http.client
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from infra.bench.server import Server

TIMEOUT_S = 120.0  # after which an answer is taken for lost
PROBE_S = 0.1  # between two questions for /health
HEADERS = {"Content-Type": "image/jpeg", "Accept": "image/*"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A picture: when it was asked for and when it was there, as perf_counter has it; `turn` counts a client's."""

    id: str
    turn: int
    asked: float
    came: float

    @property
    def seconds(self) -> float:
        return self.came - self.asked


@dataclass
class Phase:
    """So many clients for so long. Every request is answered, refused with a time to come back, or lost."""

    clients: int
    answers: list[Answer] = field(default_factory=list)
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    health: list[float] = field(default_factory=list)  # seconds that each answer of /health took

    def throughput(self) -> float:
        """Pictures a second, from the first question to the last picture: no client pauses, so no server does."""
        begun = min(answer.asked for answer in self.answers)
        return len(self.answers) / (max(answer.came for answer in self.answers) - begun)

    def run(self, servers: Sequence[Server], photo: bytes, seconds: float) -> None:
        """Clients are shared out among servers. What was asked before the end is waited for."""
        until = time.perf_counter() + seconds
        over = threading.Event()
        asking = [
            threading.Thread(target=self._ask, args=(servers[number % len(servers)], photo, until))
            for number in range(self.clients)
        ]
        probing = threading.Thread(target=self._probe, args=(servers[0], over))
        for thread in (probing, *asking):
            thread.start()
        for thread in asking:
            thread.join()
        over.set()
        probing.join()

    def _ask(self, server: Server, photo: bytes, until: float) -> None:
        """One client. It ends at a loss, since a server that is gone would be asked in a tight loop."""
        connection = http.client.HTTPConnection(server.host, server.port, timeout=TIMEOUT_S)
        turn, wait = 0, 0.0
        while (asked := time.perf_counter() + wait) < until:
            time.sleep(wait)
            id = uuid.uuid4().hex
            try:
                wait = _seconds_to_wait(connection, photo, id)
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(str(error) or repr(error))
                return
            if wait:
                self.refused += 1
            else:
                self.answers.append(Answer(id, turn, asked, time.perf_counter()))
                turn += 1

    def _probe(self, server: Server, over: threading.Event) -> None:
        while not over.wait(PROBE_S):
            asked = time.perf_counter()
            connection = http.client.HTTPConnection(server.host, server.port, timeout=TIMEOUT_S)
            try:
                connection.request("GET", "/health")
                connection.getresponse().read()
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(f"/health: {error or error!r}")
                return
            finally:
                connection.close()
            self.health.append(time.perf_counter() - asked)


def _seconds_to_wait(connection: http.client.HTTPConnection, photo: bytes, id: str) -> float:
    """0 once there is a picture, else what Retry-After says. Raises OSError and HTTPException for all else."""
    connection.request("POST", "/convert", photo, {**HEADERS, "X-Request-Id": id})
    response = connection.getresponse()
    body = response.read()
    if response.status == 503 and (wait := response.getheader("Retry-After")):
        connection.close()  # the server would, after some seconds without a request
        return float(wait)
    if response.status != 200 or not body:
        raise http.client.HTTPException(f"{response.status} {body[:200]!r}")
    return 0.0
