"""The rest of an event is handed back in time, however slow S3 is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from handler.deadline import Deadline
from handler.errors import OutOfTime
from tests import s3_events as events
from tests.events import Context
from tests.handler.s3_fakes import PATIENT, Bucket, answer, photo
from tests.s3_server import Fault, Proxy


@dataclass
class Ending(Context):
    """Time that runs, from `remaining_ms` down to nothing."""

    begun: float = field(default_factory=time.monotonic)

    def get_remaining_time_in_millis(self) -> int:
        return max(0, self.remaining_ms - int((time.monotonic() - self.begun) * 1000))


def silence() -> None:
    time.sleep(9)


SLOW: dict[str, Callable[[], Fault]] = {
    "a HEAD without answer": lambda: Fault("HEAD", "slow.jpg", times=9, before=silence),
    "a silence in the download": lambda: Fault("GET", "slow.jpg", stall=9),
    "a download that trickles": lambda: Fault("GET", "slow.jpg", trickle=0.5),
    "a look at the picture without answer": lambda: Fault("HEAD", "anime/slow", times=9, before=silence),
    "a PUT without answer": lambda: Fault("PUT", "anime/slow", times=9, before=silence),
}


@pytest.mark.parametrize("slow", SLOW.values(), ids=SLOW)
def test_an_event_is_over_before_its_time_is_and_the_rest_is_handed_back(
    bucket: Bucket, faulty: Proxy, slow: Callable[[], Fault]
) -> None:
    for key in ("good.jpg", "z.jpg"):
        bucket.put(key, photo())
    bucket.put("slow.jpg", photo() + bytes(300_000))  # more than one piece of a download
    faulty.faults = [slow()]
    keys = ("good.jpg", "slow.jpg", "z.jpg")
    event = events.sqs(*(events.notification(key, bucket=bucket.name) for key in keys))
    context = Ending(remaining_ms=2_500)
    said = answer(bucket.events(faulty.url, PATIENT), event, context)
    assert context.get_remaining_time_in_millis() > 0
    assert said == {"batchItemFailures": [{"itemIdentifier": "m1"}, {"itemIdentifier": "m2"}]}
    assert bucket.keys("anime/") == {"anime/good.jpg.cel.jpg"}
    assert answer(bucket.events(), event) == {"batchItemFailures": []}


def test_an_error_report_is_given_up_in_time_too(bucket: Bucket, faulty: Proxy) -> None:
    bucket.put("a.jpg", b"no photo")
    faulty.faults = [Fault("PUT", "error.json", times=9, before=silence)]
    context = Ending(remaining_ms=2_000)
    event = events.notification("a.jpg", bucket=bucket.name)
    said = answer(bucket.events(faulty.url, PATIENT, error_reports=True), event, context)
    assert context.get_remaining_time_in_millis() > 0
    assert said["objects"][0]["code"] == "unsupported_format"


def test_a_long_batch_is_left_the_time_to_be_handed_back(bucket: Bucket) -> None:
    bucket.put("a.jpg", photo())
    first = events.notification("a.jpg", bucket=bucket.name)
    context = Context(remaining_ms=2_300)
    assert answer(bucket.events(), events.sqs(first, *[events.TEST_EVENT] * 3_000), context) == {
        "batchItemFailures": [{"itemIdentifier": "m0"}]
    }
    assert answer(bucket.events(), events.sqs(first), context) == {"batchItemFailures": []}


def test_a_call_in_time_gives_what_it_gives_and_raises_what_it_raises() -> None:
    for deadline in (Deadline(), Deadline(lambda: 5_000), Deadline(lambda: 5_000, 4_000)):
        assert deadline.run(lambda: 7) == 7
        with pytest.raises(TimeoutError, match="its own"):
            deadline.run(lambda: (_ for _ in ()).throw(TimeoutError("its own")))


def test_a_call_that_takes_too_long_is_not_waited_for_and_none_is_begun_without_time() -> None:
    over, begun = threading.Event(), time.monotonic()
    with pytest.raises(OutOfTime, match=r"in the 0\.2 s"):
        Deadline(lambda: 1_200, 1_000).run(lambda: over.wait(30))
    assert time.monotonic() - begun < 5
    over.set()
    calls: list[int] = []
    with pytest.raises(OutOfTime):
        Deadline(lambda: 1_000, 1_000).run(lambda: calls.append(1))
    assert not calls
