"""The load: queueing by hand, verdicts on made-up figures, clients at a server of ours, and the real one."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from infra.bench.clients import Answer, Phase
from infra.bench.load import Load, Measured
from infra.bench.load_report import Report
from infra.bench.queueing import percentile, waits
from infra.bench.server import Arrangement, Server
from infra.errors import BadRequest
from infra.serve import listen
from tests.infra.conftest import Run

# Queueing


def test_one_client_waits_for_its_own_conversion_alone() -> None:
    assert waits([1, 2, 3], clients=1, slots=1) == [2, 3]


def test_each_of_several_waits_for_all_who_came_before() -> None:
    # Of two, each waits for the other's conversion and then its own: 2+3, 3+4, 4+5, 5+6.
    assert waits([1, 2, 3, 4, 5, 6], clients=2, slots=1) == [5, 7, 9, 11]


def test_slots_share_the_wait_out() -> None:
    assert waits([1] * 10, clients=4, slots=2) == [2] * 6
    assert waits([1] * 5, clients=2, slots=3) == [1] * 3  # more slots than clients


def test_who_is_done_first_asks_again_first() -> None:
    # The second slot's first takes 5 s; meanwhile the other client has five turns of a second.
    assert waits([5, 1, 1, 1, 1, 1], clients=2, slots=2) == [1, 1, 1, 1]


def test_percentiles_lie_between_the_values() -> None:
    assert percentile([0, 10], 50) == 5
    assert percentile(list(range(101)), 95) == 95
    assert percentile([7], 95) == 7


# Verdicts


def measured(wait: float = 2.0, logged: float = 2.0, gap: float = 1.0, health: float = 0.01) -> Measured:
    """Two clients, whose pictures take a second each: one every `gap` seconds, `wait` after it was asked for."""
    came = [gap * number for number in range(1, 41)]
    answers = [Answer(str(n), n // 2, at - (wait if n > 1 else at), at) for n, at in enumerate(came)]
    alone = [Answer("x", n, n, n + 1.0) for n in range(40)]
    lines: dict[str, dict[str, Any]] = {
        answer.id: {"Duration": [1000 * logged], "QueueDuration": [1000 * (logged - 1)]} for answer in answers
    }
    together = Phase(2, answers, health=[health] * 20)
    return Measured(Arrangement(1, 1, 2), [Phase(1, alone)], [together], lines, 300.0)


def report(*found: Measured) -> Report:
    return Report.of({"CPU": "fast"}, Load(2, 40, 1, 256, 32), found)


def holds(*found: Measured) -> list[bool]:
    return [one.holds for one in report(*found).verdicts()]


def test_a_queue_that_works_holds_in_every_respect() -> None:
    assert holds(measured()) == [True] * 5
    (row,) = report(measured()).rows
    assert (row.throughput, row.of_alone, row.p50, row.p95) == (1, 1, 2, 2)
    assert (row.predicted_p50, row.predicted_p95, row.queued_p50, row.explained) == (2, 2, 1, 1)


def test_throughput_may_be_five_per_cent_less_than_back_to_back() -> None:
    assert holds(measured(gap=1.05))[0]
    assert not holds(measured(gap=1.06))[0]


def test_a_lost_request_is_named_whichever_arrangement_lost_it() -> None:
    second = measured()
    second.together[0].lost.append("Connection reset by peer")
    verdict = report(measured(), second).verdicts()[1]
    assert (verdict.holds, verdict.figures) == (False, "Connection reset by peer")


def test_a_wait_longer_than_queueing_makes_it_fails() -> None:
    assert holds(measured(wait=2.19))[2]
    assert not holds(measured(wait=2.21))[2]


def test_a_wait_that_the_log_does_not_have_fails() -> None:
    assert holds(measured(logged=1.91))[3]
    assert not holds(measured(logged=1.89))[3]


def test_a_slow_health_check_fails() -> None:
    assert holds(measured(health=0.1))[4]
    assert not holds(measured(health=0.11))[4]


def test_an_arrangement_is_described_in_words() -> None:
    assert str(Arrangement(1, 1, 2)) == "1 process × 1 slot × 2 threads"
    assert str(Arrangement(2, 4, 1)) == "2 processes × 4 slots × 1 thread"
    assert "1 process × 1 slot × 2 threads" in report(measured()).as_text()


# Clients


@contextmanager
def served(answer: Callable[[BaseHTTPRequestHandler, int], None]) -> Iterator[Server]:
    """A server whose POSTs are answered by `answer`, which is told how many there were before."""
    asked = iter(range(10**9))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            answer(self, next(asked))

        def do_GET(self) -> None:
            reply(self, 200)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield Server(None, "127.0.0.1", server.server_address[1], Path())  # type: ignore[arg-type]
        finally:
            server.shutdown()


def reply(to: BaseHTTPRequestHandler, status: int, **headers: str) -> None:
    to.send_response(status)
    for name, value in {"Content-Length": "2", **headers}.items():
        to.send_header(name.replace("_", "-"), value)
    to.end_headers()
    to.wfile.write(b"ok")


def run(answer: Callable[[BaseHTTPRequestHandler, int], None], clients: int = 1, seconds: float = 0.4) -> Phase:
    phase = Phase(clients)
    with served(answer) as server:
        phase.run([server], b"photo", seconds)
    return phase


def test_clients_ask_again_as_soon_as_they_have_a_picture() -> None:
    def slow(to: BaseHTTPRequestHandler, number: int) -> None:
        time.sleep(0.05)
        reply(to, 200)

    phase = run(slow, clients=3)
    assert len(phase.answers) >= 9
    assert max(answer.turn for answer in phase.answers) >= 2
    assert all(0.05 <= answer.seconds < 0.4 for answer in phase.answers)
    assert phase.throughput() <= 3 / 0.05
    assert (phase.refused, phase.lost) == (0, [])
    assert len(phase.health) >= 2


def test_who_is_told_to_come_back_does_so_when_it_was_told() -> None:
    begun = time.perf_counter()
    phase = run(lambda to, number: reply(to, 200) if number else reply(to, 503, Retry_After="1"), seconds=1.2)
    assert (phase.refused, phase.lost) == (1, [])
    assert phase.answers[0].asked - begun >= 1


def test_who_would_have_to_come_back_after_the_end_does_not() -> None:
    begun = time.perf_counter()
    phase = run(lambda to, number: reply(to, 503, Retry_After="30"))
    assert (phase.refused, phase.answers, phase.lost) == (1, [], [])
    assert time.perf_counter() - begun < 5


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (lambda to, number: reply(to, 500), "500 b'ok'"),
        (lambda to, number: reply(to, 503), "503 b'ok'"),  # without a time to come back
        (lambda to, number: to.connection.shutdown(socket.SHUT_RDWR), "closed connection"),
    ],
)
def test_whatever_else_comes_is_lost(broken: Callable[[BaseHTTPRequestHandler, int], None], named: str) -> None:
    phase = run(broken)
    assert len(phase.lost) == 1
    assert named in phase.lost[0]
    assert phase.answers == []


# Servers


def test_an_answer_is_not_held_back_until_its_beginning_is_acknowledged() -> None:
    with listen("127.0.0.1", 0) as sock, socket.create_connection(sock.getsockname()):
        accepted, _ = sock.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_server_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MAX_SIDE", "huge")
    with (
        pytest.raises(BadRequest, match=r"does not start: .*MAX_SIDE='huge'"),
        Arrangement(1, 1, 1).served(1, tmp_path),
    ):
        pass


def test_a_load_on_the_real_server_accounts_for_every_request(animegan: Run) -> None:
    load = ("--clients", 3, "--seconds", 1.5, "--rounds", 1, "--size", 64, "--threads", 1, "--queue", 1)
    done = animegan("bench", "load", *load, "--json")
    assert done.stderr == "animegan: round 1 of 1\n"
    said = json.loads(done.stdout)
    (row,) = said["rows"]
    assert row["arrangement"] == "1 process × 1 slot × 1 thread"
    assert row["lost"] == []
    assert row["refused"] > 0  # one at work, one waiting, and three ask
    assert row["throughput"] > 0.5
    assert 0 < row["queued_p50"] < row["p50"]
    assert 0.5 < row["explained"] <= 1
    assert 0 < row["health_p95"] <= row["health_max"]
    assert done.returncode == (0 if all(one["holds"] for one in said["verdicts"]) else 1)
