"""Pictures that are kept: which, how many bytes of them, and what requests, events and log lines see of it."""

from __future__ import annotations

import json
import random
import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any

import httpx
import pytest

from handler.api import create_app
from handler.cache import OVERHEAD, Cache, Lookup, bound, key
from handler.convert import Conversion, ConversionRequest
from handler.converter import Converter
from handler.errors import ConversionError, CorruptImage, SettingsError, UnknownStyle
from handler.function import Function
from handler.generator import Styles
from handler.lines import Caller
from handler.metrics import LogLines
from handler.settings import Settings
from handler.slots import Slots
from tests import s3_events
from tests.events import Context, http_api
from tests.handler.s3_fakes import Bucket, answer, status
from tests.handler.s3_fakes import photo as coloured

Lines = Callable[[], list[dict[str, Any]]]
JPEG = {"Content-Type": "image/jpeg", "Accept": "image/*"}
STAGES = ("DecodeDuration", "PreprocessDuration", "InferenceDuration", "PostprocessDuration", "EncodeDuration")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def converter(settings: Settings) -> Converter:
    keeping = settings.model_copy(update={"cache_bytes": 4 * 2**20})
    return Converter(keeping, Styles(settings.styles_dir, "float32"), LogLines(1, 1))


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    """The log lines since it was called last."""
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def picture(size: int) -> Conversion:
    """One that counts as `size` bytes."""
    return Conversion(bytes(size - OVERHEAD), "jpeg", 1, 1, "cel", {"total": 5.0}, ())


# What is kept


def test_what_was_not_asked_for_the_longest_goes_first() -> None:
    cache = Cache(40_000)
    for name in "abcd":
        cache.put(name, picture(10_000))
    assert cache.get("a")  # so b is now the one
    cache.put("e", picture(10_000))
    assert [name for name in "abcde" if cache.get(name)] == ["a", "c", "d", "e"]
    cache.put("f", picture(9_999))
    assert [name for name in "abcdef" if cache.get(name)] == ["c", "d", "e", "f"]
    assert cache.bytes == 39_999


def test_a_picture_over_a_quarter_of_the_bound_is_not_kept_and_drives_nothing_out() -> None:
    cache = Cache(40_000)
    cache.put("a", picture(10_000))
    cache.put("b", picture(10_001))
    assert (cache.get("b"), cache.bytes) == (None, 10_000)
    assert cache.get("a")


def test_a_picture_that_is_made_twice_counts_once() -> None:
    cache = Cache(40_000)
    for size in (10_000, 4_000):
        cache.put("a", picture(size))
    assert cache.bytes == 4_000


def test_without_bytes_nothing_is_kept_and_the_log_says_off() -> None:
    cache = Cache(0)
    cache.put("a", picture(OVERHEAD))
    assert cache.get("a") is None
    assert cache.counted("miss") == {"cache": "off"}


def test_the_share_of_hits_is_of_all_that_was_looked_up_so_far() -> None:
    cache = Cache(40_000)
    lookups: tuple[Lookup, ...] = ("miss", "hit", "hit", "partial")
    assert [cache.counted(found)["cache_hit_rate"] for found in lookups] == [0, 0.5, 0.667, 0.5]
    faces = cache.counted("hit", "face_cache")
    assert (faces["face_cache"], faces["face_cache_hit_rate"]) == ("hit", 1)  # they are counted apart


@pytest.mark.parametrize(("memory", "bytes"), [(None, 2**26), ("128", 0), ("3007", 0), ("3008", 2**26)])
def test_auto_is_64_mib_and_off_in_lambda_below_3008_mb(
    monkeypatch: pytest.MonkeyPatch, memory: str | None, bytes: int
) -> None:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", raising=False)
    if memory:
        monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", memory)
    assert bound("auto") == bytes
    assert (bound(0), bound(5)) == (0, 5)  # what is set is taken


def test_every_option_of_a_request_decides_and_the_photo_by_its_content_alone() -> None:
    request = ConversionRequest(b"photo", "cel", "png", 64, 90, False, False, False, 1000)
    others: dict[str, Any] = {
        "data": b"other",
        "style": "ink",
        "format": "jpeg",
        "size": 65,
        "quality": 91,
        "upscale": True,
        "side_by_side": True,
        "face": True,
        "max_output_bytes": None,
    }
    assert others.keys() == {field.name for field in fields(ConversionRequest)}
    keys = [key(request, "digest", 1024), key(request, "digest2", 1024), key(request, "digest", 512)]
    keys += [key(replace(request, **{name: value}), "digest", 1024) for name, value in others.items()]
    assert len(set(keys)) == 12
    assert key(replace(request, data=bytes(bytearray(b"photo"))), "digest", 1024) == keys[0]


# How much of it


def test_what_is_kept_takes_no_more_memory_than_it_may() -> None:
    random_, most = random.Random(0), 2**20
    warnings = [f"size={size} is above the photo's own 64 pixels; ask with upscale=true." for size in range(9)]
    cache = Cache(most)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(5000):
            size = random_.choice([0, 100, 5_000, 100_000])
            request = ConversionRequest(b"%d" % number, "cel", "jpeg", 32 + number)
            said = (f"{number}: {warnings[1]}", f"{number}: {warnings[2]}")
            made = Conversion(random_.randbytes(size), "jpeg", 64, 64, "cel", {"total": 1.0 * number}, said)
            cache.put(key(request, "d" * 64, "float32", 1024), made)
            assert cache.bytes <= most
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert most / 4 < kept <= most


def test_threads_that_put_and_get_at_once_leave_its_count_right() -> None:
    cache = Cache(100_000)

    def work(seed: int) -> None:
        random_ = random.Random(seed)
        for _ in range(2000):
            name = random_.randrange(50)
            if not cache.get(name):
                cache.put(name, picture(3000 + 100 * name))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    there = [name for name in range(50) if cache.get(name)]
    assert cache.bytes == sum(3000 + 100 * name for name in there) <= 100_000
    assert len(there) >= 12  # 100,000 bytes of at most 7,900 each


# Conversions


def test_the_same_again_is_the_same_picture_without_the_work(
    converter: Converter, photo: bytes, lines: Lines
) -> None:
    first, again = (converter(ConversionRequest(photo, "cel"), Caller("test")) for _ in range(2))
    assert again == replace(first, timings=again.timings)
    assert list(again.timings) == ["total"]
    made, kept = lines()
    assert (made["cache"], kept["cache"]) == ("miss", "hit")
    assert (made["cache_hit_rate"], kept["cache_hit_rate"]) == (0, 0.5)
    assert (made["cache_bytes"], kept["cache_bytes"]) == (0, len(first.data) + OVERHEAD)
    assert not kept.keys() & {*STAGES, "QueueDuration"}
    assert kept["Duration"][0] < 0.2 * made["Duration"][0]
    same = ("Style", "Source", "InputPixels", "input_format", "output_format", "output_bytes", "warnings", "error")
    assert {name: made[name] for name in same} == {name: kept[name] for name in same}


def test_the_wait_for_a_slot_is_told_of_a_picture_that_was_kept_too(
    converter: Converter, photo: bytes, lines: Lines
) -> None:
    converter(ConversionRequest(photo, "cel"), Caller("test"))
    kept = converter(ConversionRequest(photo, "cel"), Caller("test"), 0.25)
    assert list(kept.timings) == ["queue", "total"]
    assert lines()[1]["QueueDuration"] == [250]
    assert lines() == []


def test_another_wish_is_another_picture(converter: Converter, photo: bytes, lines: Lines) -> None:
    for wish in ({}, {"size": 48}, {"quality": 50}, {"format": "png"}, {"side_by_side": True}):
        converter(ConversionRequest(photo, "cel", **wish), Caller("test"))  # type: ignore[arg-type]
    assert [line["cache"] for line in lines()] == ["miss"] * 5


def test_an_error_is_found_again_and_never_kept(converter: Converter, photo: bytes, lines: Lines) -> None:
    for _ in range(2):
        with pytest.raises(CorruptImage):
            converter(ConversionRequest(photo[:-200], "cel"), Caller("test"))
        with pytest.raises(UnknownStyle):
            converter(ConversionRequest(photo, "oil"), Caller("test"))
    assert [line.get("cache") for line in lines()] == ["miss", None, "miss", None]
    assert converter.cache.bytes == 0


def test_what_was_never_made_is_not_answered_and_leaves_no_line_yet(
    converter: Converter, photo: bytes, lines: Lines
) -> None:
    assert converter.cached(ConversionRequest(photo, "cel"), Caller("test")) is None
    assert converter.cached(ConversionRequest(photo, "oil"), Caller("test")) is None
    assert converter.cached(ConversionRequest(b"", "cel"), Caller("test")) is None
    assert lines() == []


def test_a_kept_picture_is_given_even_when_there_is_no_time_left_to_make_it(
    converter: Converter, photo: bytes
) -> None:
    converter(ConversionRequest(photo, "cel"), Caller("test"))
    hurried = Caller("test", remaining_ms=lambda: 0)
    assert converter(ConversionRequest(photo, "cel"), hurried).width == 96
    with pytest.raises(ConversionError, match="0 ms are left"):
        converter(ConversionRequest(photo, "cel", quality=91), hurried)


# Requests and events


@pytest.mark.anyio
async def test_a_kept_picture_needs_no_slot(converter: Converter, photo: bytes) -> None:
    slots, go_on = Slots(concurrency=1, max_queue=0), threading.Event()
    transport = httpx.ASGITransport(create_app(converter, slots))
    async with httpx.AsyncClient(transport=transport, base_url="http://function") as client:
        made = await client.post("/convert", content=photo, headers=JPEG)
        taken = slots.submit(lambda queued: go_on.wait(10))
        kept = await client.post("/convert", content=photo, headers=JPEG)
        busy = await client.post("/convert?size=48", content=photo, headers=JPEG)
        go_on.set()
    assert taken.result(10)
    assert (kept.status_code, busy.status_code) == (200, 503)
    assert kept.content == made.content
    assert kept.headers["server-timing"].startswith("total;dur=")


@pytest.mark.anyio
async def test_with_one_slot_who_asks_for_a_picture_while_it_is_made_gets_that_one(
    converter: Converter, photo: bytes, lines: Lines
) -> None:
    import anyio

    slots, go_on = Slots(concurrency=1, max_queue=8), threading.Event()
    slots.submit(lambda queued: go_on.wait(10))  # so that all of them ask before the first is made
    transport = httpx.ASGITransport(create_app(converter, slots))
    pictures = []
    async with httpx.AsyncClient(transport=transport, base_url="http://function") as client:

        async def convert() -> None:
            pictures.append((await client.post("/convert", content=photo, headers=JPEG)).content)

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(convert)
            await anyio.sleep(0.2)
            go_on.set()
    assert len(set(pictures)) == 1
    said = lines()
    assert [line["cache"] for line in said] == ["miss", "hit", "hit"]
    assert all(line["QueueDuration"][0] > 50 for line in said)


def test_the_function_keeps_pictures_over_events_and_says_how_many_bytes_it_may(
    settings: Settings, photo: bytes, lines: Lines
) -> None:
    function = Function(settings.model_copy(update={"cache_bytes": 10**6}), begun=0.0)
    event = http_api(body=photo, headers={"content-type": "image/jpeg"})
    bodies = [json.loads(function(event, Context(name))["body"]) for name in ("one", "two")]
    assert bodies[0]["image"] == bodies[1]["image"]
    assert list(bodies[1]["timings"]) == ["total"]
    init, made, kept = lines()
    assert init["cache_limit"] == 10**6
    assert [(line["request_id"], line["cache"]) for line in (made, kept)] == [("one", "miss"), ("two", "hit")]
    assert (made["ColdStart"], kept["ColdStart"]) == ([1], [0])


def test_photos_in_s3_with_the_same_content_are_converted_once(bucket: Bucket, lines: Lines) -> None:
    events = bucket.events()
    for name in ("a.jpg", "copy of a.jpg"):
        bucket.put(name, coloured())
        said = answer(events, s3_events.notification(name, bucket=bucket.name))
        assert status(said) == [("converted", None)]
    assert [line["cache"] for line in lines()] == ["miss", "hit"]
    first, copy = (bucket.get(f"anime/{name}.cel.jpg") for name in ("a.jpg", "copy of a.jpg"))
    assert first["Body"] == copy["Body"]


def test_a_cache_cannot_have_less_than_no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ("-1", "much"):
        monkeypatch.setenv("CACHE_BYTES", wrong)
        with pytest.raises(SettingsError, match=f"CACHE_BYTES='{wrong}'"):
            Settings.from_environment()
    monkeypatch.setenv("CACHE_BYTES", "1000000")
    assert Settings.from_environment().cache_bytes == 1_000_000
