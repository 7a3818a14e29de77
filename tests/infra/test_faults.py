"""The parts that make faults: what they do to real processes, real S3 clients and a real log."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from infra.errors import BadRequest
from infra.faults import traffic
from infra.faults.disturbance import Reading, worst
from infra.faults.environments import Environments
from infra.faults.hogs import hogs
from infra.faults.leak import MIB, Leak, LeakingApp, leaking
from infra.faults.paging import major_faults, page_out
from infra.faults.pictures import Wish
from infra.faults.proxy import proxy
from infra.faults.scenario import Half, Photos
from infra.faults.store import store
from tests.s3_server import ENVIRONMENT, s3_server

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and process_madvise")
WISH = Wish(b"photo", "jpeg", {})
HALF = Half((Photos(32, 40),))

# The proxy before S3


def client(url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    import boto3

    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    return boto3.client("s3", endpoint_url=url)


def seconds(call: Any, **said: Any) -> float:
    begun = time.perf_counter()
    call(**said)
    return time.perf_counter() - begun


def test_the_proxy_delays_the_methods_that_it_is_told_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with s3_server() as target, proxy(target) as before:
        s3, bucket = client(before.url, monkeypatch), f"b-{uuid.uuid4().hex}"
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        s3.put_object(Bucket=bucket, Key="k", Body=b"data" * 1000, ContentType="image/jpeg")
        before.delays["GET"] = 0.5
        assert seconds(s3.get_object, Bucket=bucket, Key="k") >= 0.5
        before.delays.clear()
        before.delays["PUT"] = 30.0
        assert seconds(s3.get_object, Bucket=bucket, Key="k") < 30


def test_what_goes_through_the_proxy_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    with s3_server() as target, proxy(target) as before:
        s3, bucket = client(before.url, monkeypatch), f"b-{uuid.uuid4().hex}"
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        data = os.urandom(300_000)
        s3.put_object(Bucket=bucket, Key="k", Body=data, Metadata={"by": "a test"})
        assert s3.get_object(Bucket=bucket, Key="k")["Body"].read() == data
        head = s3.head_object(Bucket=bucket, Key="k")
        assert (head["ContentLength"], head["Metadata"]) == (300_000, {"by": "a test"})
        with pytest.raises(s3.exceptions.ClientError, match="404"):
            s3.head_object(Bucket=bucket, Key="other")


def test_the_store_puts_each_photo_under_its_own_key_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with store() as s3:
        events = [s3.event(WISH) for _ in range(2)]
        keys = [event["Records"][0]["s3"]["object"]["key"] for event in events]
        assert len(set(keys)) == 2
        seen = client(s3.environment["AWS_ENDPOINT_URL_S3"], monkeypatch)
        assert [seen.get_object(Bucket=s3.bucket, Key=key)["Body"].read() for key in keys] == [b"photo"] * 2


# The leak


def test_the_leak_keeps_what_it_says() -> None:
    import psutil

    leak = Leak(40.0)
    before = psutil.Process().memory_info().rss
    for _ in range(5):
        leak()
    assert leak.mib == 200
    assert psutil.Process().memory_info().rss - before > 150 * MIB  # resident, but for what could be used again


def test_the_function_answers_through_the_leak_as_without_it() -> None:
    leak = Leak(1.0)
    handler = leaking(lambda event, context: {"got": event, "with": context}, leak)
    assert [handler(number, "c") for number in range(3)] == [{"got": n, "with": "c"} for n in range(3)]
    assert leak.mib == 3


def test_the_application_leaks_at_conversions_and_not_at_health() -> None:
    import asyncio

    answered: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        answered.append((scope, receive, send))

    leak = Leak(2.0)
    leaky = LeakingApp(app, leak)
    scopes: list[Any] = [{"type": "http", "method": method} for method in ("POST", "GET")] + [{"type": "lifespan"}]
    for scope in scopes:
        asyncio.run(leaky(scope, "receive", "send"))  # type: ignore[arg-type]
    assert answered == [(scope, "receive", "send") for scope in scopes]
    assert leak.mib == 2


# Hogs


@linux
def test_hogs_compute_on_the_same_cpus_and_end_with_the_block() -> None:
    import psutil

    with hogs(2, 1.0) as pids:
        begun = time.monotonic()
        while time.monotonic() - begun < 0.5:
            time.sleep(0.05)
        used = [psutil.Process(pid).cpu_times().user for pid in pids]
        allowed = [os.sched_getaffinity(pid) for pid in pids]
    assert len(pids) == 2
    assert sum(used) > 0
    assert allowed == [os.sched_getaffinity(0)] * 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


@linux
def test_a_hog_ends_when_whoever_started_it_was_killed() -> None:
    import psutil

    script = "import os; from infra.faults.hogs import hogs\n"
    script += "with hogs(1, 0.1) as [pid]: print(pid, flush=True); os._exit(9)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)
    until = time.monotonic() + 30
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie" and time.monotonic() < until:
        time.sleep(0.05)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie"


# Paging


@linux
def test_pages_that_are_taken_away_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "mapped"
    file.write_bytes(os.urandom(16 * MIB))
    os.sync()  # what is not on the disk yet cannot go
    reads = "import mmap, sys; f = open(sys.argv[1], 'rb'); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)\n"
    reads += "for _ in sys.stdin: print(sum(m[at] for at in range(0, len(m), 4096)), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", reads, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:

        def touched() -> tuple[bytes, int]:
            assert process.stdin
            assert process.stdout
            before = major_faults(process.pid)
            process.stdin.write(b"\n")
            return process.stdout.readline(), major_faults(process.pid) - before

        touched()
        total, faults = touched()
        try:
            page_out(process.pid)
        except BadRequest as refused:
            process.kill()
            pytest.skip(str(refused))
        again, more = touched()
        process.kill()
    assert again == total  # nothing is lost
    assert more > faults


def test_pages_of_a_process_that_is_not_there_are_an_error() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    with pytest.raises(BadRequest, match="cannot be taken away"):
        page_out(gone.pid)


# Disturbance


def test_what_others_took_is_what_was_busy_without_what_is_ours() -> None:
    # Of two CPUs in four seconds, six were busy and four of them ours: half a CPU.
    assert Reading(14.0, 106.0, 54.0).others(Reading(10.0, 100.0, 50.0)) == 0.5
    assert Reading(14.0, 100.0, 54.0).others(Reading(10.0, 100.0, 50.0)) == 0  # clocks of unlike steps


def test_a_neighbour_of_three_seconds_is_seen_in_a_long_run() -> None:
    busy = [0, 0, 0, 0, 1, 2, 3, 3, 3, 3]
    readings = [Reading(float(at), float(taken), 0.0) for at, taken in enumerate(busy)]
    assert worst(readings) == 1.0
    assert worst(readings[:2]) == 0.0  # less than a window


@linux
def test_own_processes_are_no_disturbance_and_others_are() -> None:
    begun = Reading.now()
    with hogs(1, 1.0):
        time.sleep(0.5)
    own = Reading.now()
    assert own.ours - begun.ours > 0.05  # a machine that others use gives it less than it wants
    assert own.busy - begun.busy > 0.05


# Traffic


class Counting:
    """A fleet that answers after a while, and counts."""

    def __init__(self, seconds: float = 0.0, refuse: int = 0, lose: int = 10**9) -> None:
        self.seconds, self.refuse, self.lose = seconds, refuse, lose
        self.asked: list[tuple[int, float]] = []
        self.inside = self.most = 0

    def ask(self, client: int, wish: Wish) -> bool:
        self.asked.append((client, time.perf_counter()))
        number = len(self.asked)
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(self.seconds)
        self.inside -= 1
        if number >= self.lose:
            raise BadRequest("lost")
        return number > self.refuse

    def pids(self) -> list[int]:
        return []


def run(half: Half, fleet: Counting, count: int = 20, pace: float = 0.0) -> traffic.Traffic:
    return traffic.run(half, fleet, [WISH] * count, Random(1), traffic.Pace(pace, pace) if pace else None)


def test_clients_in_turn_are_as_many_as_asked_for() -> None:
    fleet = Counting(0.01)
    seen = run(Half(HALF.photos, clients=3), fleet)
    assert len(seen.seconds) == 20
    assert fleet.most == 3
    assert {client for client, _ in fleet.asked} == {0, 1, 2}


def test_questions_on_their_own_wait_for_no_answer() -> None:
    fleet = Counting(0.2)
    seen = run(Half(HALF.photos, load=1.0), fleet, pace=0.001)
    assert len(seen.seconds) == 20
    assert fleet.most > 3


def test_questions_in_bursts_come_at_once() -> None:
    fleet = Counting(0.05)
    run(Half(HALF.photos, load=0.5, burst=5), fleet, pace=0.02)
    times = [at for _, at in fleet.asked]
    gaps = [times[first] - times[first - 1] for first in range(5, 20, 5)]
    within = [times[first + 4] - times[first] for first in range(0, 20, 5)]
    assert sum(within) < sum(gaps)


def test_what_can_be_served_is_measured_with_pauses_and_without() -> None:
    fleet = Counting(0.02)
    pace = traffic.Pace.of(fleet, [WISH] * 8)
    assert min(pace.idle, pace.busy) >= 0.02
    times = [at for _, at in fleet.asked]
    assert times[3] - times[0] > 1.5 * (times[7] - times[4])


def test_more_than_can_be_served_is_more_than_one_after_the_other() -> None:
    pace = traffic.Pace(idle=0.3, busy=0.2)
    assert pace.between(Half(HALF.photos, load=2.0)) == 0.1
    assert pace.between(Half(HALF.photos, load=0.5)) == 0.6
    assert pace.between(Half(HALF.photos, load=0.5, burst=4)) == 2.4


def test_refusals_are_counted_apart() -> None:
    seen = run(HALF, Counting(refuse=4))
    assert (len(seen.seconds), seen.refused) == (16, 4)


def test_a_lost_answer_ends_the_run() -> None:
    fleet = Counting(lose=5)
    with pytest.raises(BadRequest, match="lost"):
        run(HALF, fleet)
    assert len(fleet.asked) == 5


# Environments


@contextmanager
def environments(half: Half, tmp_path: Path, command: str) -> Iterator[Environments]:
    """With processes that answer each line by `command`, in place of the emulator."""
    from infra.faults import environments as module

    logs = iter(tmp_path / f"{number}.log" for number in range(99))
    found = Environments(half, dict(os.environ), lambda: next(logs), lambda wish: {"n": len(wish.photo)})
    before, module.COMMAND = module.COMMAND, (sys.executable, "-c", command)
    try:
        yield found
    finally:
        module.COMMAND = before
        found.close()


ECHO = "import os, sys\nprint(os.getpid(), file=sys.stderr)\nfor line in sys.stdin: print('true', flush=True)"


def pids(tmp_path: Path) -> list[str]:
    return [path.read_text().strip() for path in sorted(tmp_path.glob("*.log"))]


def test_an_environment_stays_unless_it_has_a_lifetime(tmp_path: Path) -> None:
    with environments(HALF, tmp_path, ECHO) as found:
        assert all(found.ask(0, WISH) for _ in range(6))
        assert len(found.pids()) == 1
    assert len(pids(tmp_path)) == 1


def test_environments_are_replaced_at_the_end_of_their_lifetime(tmp_path: Path) -> None:
    with environments(Half(HALF.photos, lifetime=2), tmp_path, ECHO) as found:
        assert all(found.ask(0, WISH) for _ in range(6))
    assert len(set(pids(tmp_path))) == 3


def test_an_environment_that_ends_is_an_error(tmp_path: Path) -> None:
    with environments(HALF, tmp_path, "pass") as found, pytest.raises(BadRequest, match="has ended"):
        found.ask(0, WISH)


def test_a_function_that_fails_is_an_error(tmp_path: Path) -> None:
    failing = ECHO.replace("true", "false")
    with environments(HALF, tmp_path, failing) as found, pytest.raises(BadRequest, match="failed"):
        found.ask(0, WISH)
