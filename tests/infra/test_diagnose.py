"""Each cause under traffic that has it, and traffic that has none; tables are made up (diagnose_frames.py)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import polars as pl
import pytest

from infra.diagnose import Cause, Diagnosis, diagnose
from infra.diagnose.text import as_text
from tests.infra.diagnose_frames import EPOCH, Part, log

MIXED = (128, 160, 192, 256, 320)
WIDE = (200, 300, 440, 640, 900, 1100)
CALM = Part()
FORMATS = ("jpeg", "png", "webp")

# What there was before, what there is now, the cause.
CHANGES = {
    "photos of one and a half times the side": (CALM, Part(sides=(288,)), Cause.LARGER_INPUTS),
    "mixed photos of one and a half times the side": (
        Part(200, sides=WIDE),
        Part(200, sides=tuple(side * 3 // 2 for side in WIDE)),
        Cause.LARGER_INPUTS,
    ),
    "half the vCPUs": (Part(threads=1, vcpus=1.0), Part(environment="b", threads=1, vcpus=0.5), Cause.FEWER_CPUS),
    "one thread on two vCPUs": (CALM, Part(environment="b", threads=1, stretch=1.0), Cause.FEWER_CPUS),
    "PNGs for pictures of all sizes": (
        Part(sides=WIDE[:3], photo_side=2000),
        Part(sides=WIDE[:3], photo_side=2000, formats=("png",)),
        Cause.SLOW_DECODE,
    ),
    "mixed photos that grew": (Part(sides=(128, 160, 192)), Part(sides=(192, 256, 320)), Cause.LARGER_INPUTS),
    "float32 after bfloat16": (CALM, Part(environment="b", precision="float32", work=9800), Cause.SLOWER_STYLE),
    "torch alone after native": (CALM, Part(environment="b", kernel="torch", work=9800), Cause.SLOWER_STYLE),
    "a style of twice the cost": (CALM, Part(styles=("heavy",), work=7400), Cause.SLOWER_STYLE),
    "a neighbour on one of two CPUs": (CALM, Part(stretch=2.0, switching=2000), Cause.CPU_CONTENTION),
    "a neighbour that never lets go": (CALM, Part(stretch=4.9), Cause.CPU_CONTENTION),
    "a hypervisor that takes a fifth": (CALM, Part(stretch=1.7, stolen=0.2), Cause.CPU_CONTENTION),
    "a neighbour under mixed photos": (Part(sides=MIXED), Part(sides=MIXED, stretch=2.0), Cause.CPU_CONTENTION),
    "eight threads": (CALM, Part(environment="b", threads=8, switching=2400), Cause.THREAD_OVERSUBSCRIPTION),
    "arrivals above capacity": (CALM, Part(queue=300, every_ms=60), Cause.QUEUEING),
    "pages from the disk": (CALM, Part(faults=60, stretch=2.2, switching=70), Cause.PAGING),
    "a leak since a restart": (CALM, Part(environment="b", leak=1.0), Cause.MEMORY_GROWTH),
    "a leak in the middle": (CALM, Part(leak=1.0), Cause.MEMORY_GROWTH),
    "environments that live for three": (CALM, Part(lifetime=3), Cause.COLD_STARTS),
    "environments that come and go": (CALM, Part(cold=0.45), Cause.COLD_STARTS),
    "huge photos for small pictures": (Part(photo_side=300), Part(photo_side=2500), Cause.SLOW_DECODE),
    "progressive photos": (Part(photo_side=1000), Part(photo_side=1000, progressive=True), Cause.SLOW_DECODE),
    "PNG photos": (Part(photo_side=1000), Part(photo_side=1000, formats=("png",)), Cause.SLOW_DECODE),
    "PNG pictures": (CALM, Part(outputs=("png",)), Cause.SLOW_ENCODE),
    "slow gets": (Part(s3=(20, 30)), Part(s3=(120, 30)), Cause.SLOW_S3),
    "slow puts": (Part(s3=(20, 30)), Part(s3=(20, 90)), Cause.SLOW_S3),
    "photos that are all new": (Part(hits=0.8), Part(hits=0.05), Cause.CACHE_MISSES),
    "a cache that is off": (Part(hits=0.8), Part(environment="b"), Cause.CACHE_MISSES),
}
# What has no change, however it looks.
CLEAN = {
    "one size": (CALM, CALM),
    "mixed sizes": (Part(sides=MIXED), Part(sides=MIXED)),
    "mixed all": tuple([Part(sides=MIXED, formats=FORMATS, outputs=FORMATS, styles=("a", "b"), s3=(20, 30))] * 2),
    "mixed hits": (Part(sides=MIXED, hits=0.4), Part(sides=MIXED, hits=0.4)),
    "torch all along": (Part(kernel="torch", work=9800), Part(kernel="torch", work=9800)),
    "float32 all along": (Part(precision="float32", work=9800), Part(precision="float32", work=9800)),
    "a restart": (CALM, Part(environment="b")),
    "many threads that wait for each other": tuple([Part(threads=16, vcpus=16.0, stretch=2.9)] * 2),
    "an environment with more vCPUs beside others": (
        *[Part(environment=name, threads=1, vcpus=1.0, stretch=1.05) for name in "abc"],
        Part(environment="d", threads=6, vcpus=6.0, stretch=2.2),
    ),
    "environments of other speeds": (CALM, Part(environment="b", work=4100), Part(environment="c", work=3400)),
    "a few cold starts": (Part(150, cold=0.02),),
    "a restart that empties the cache": (
        Part(hits=0.7),
        Part(12, environment="b", hits=0.0),
        Part(48, environment="b", hits=0.7),
    ),
    "times that spread by a third": (Part(noise=0.3), Part(noise=0.3)),
    "a processor whose clock wanders": (Part(drift=0.1, sides=MIXED), Part(drift=0.1, sides=MIXED)),
    # It takes 0.6 times as long, though six threads wait for one another more often than two.
    "six CPUs after two": (Part(), Part(environment="b", threads=6, vcpus=6.0, stretch=2.2)),
    "threads that were woken on one CPU": (
        Part(sides=(112,), work=1500, stretch=1.25),
        Part(sides=(112,), work=1500, stretch=1.75, switching=3500),
    ),
    "two clients that take turns": (Part(queue=80), Part(queue=80)),
    "smaller photos": (Part(sides=(320,)), Part(sides=(160,))),
    "a neighbour that has gone": (Part(stretch=2.0, switching=2000), CALM),
    "native after torch": (Part(kernel="torch", work=9800), Part(environment="b")),
    "bfloat16 after float32": (Part(precision="float32", work=9800), Part(environment="b")),
    "S3 that varies": (Part(s3=(40, 60), noise=0.4), Part(s3=(40, 60), noise=0.4)),
}


def cause(*parts: Part, seed: int = 0) -> Cause:
    return diagnose(log(*parts, seed=seed)).cause


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_change_is_told_by_its_cause(name: str, seed: int) -> None:
    before, during, expected = CHANGES[name]
    assert cause(before, during, seed=seed) is expected


@pytest.mark.parametrize("name", CLEAN)
def test_traffic_without_a_slowdown_raises_no_alarm(name: str) -> None:
    assert {cause(*CLEAN[name], seed=seed) for seed in range(8)} == {Cause.NO_CHANGE}


@pytest.mark.parametrize("name", ["a neighbour on one of two CPUs", "PNG pictures", "arrivals above capacity"])
def test_the_time_of_a_change_is_found_within_a_few_conversions(name: str) -> None:
    before, during, _ = CHANGES[name]
    frame = log(before, during)
    found = diagnose(frame).causes[0]
    actual = frame.filter(pl.col("event") == "conversion")["at"][before.count]
    assert found.since is not None
    assert abs(found.since - actual) < timedelta(seconds=1)
    assert found.until is None


def test_what_is_over_says_when_it_ended_and_comes_after_what_lasts() -> None:
    neighbour = Part(stretch=3.0, switching=2000)
    found = diagnose(log(CALM, neighbour, CALM, Part(60, outputs=("png",)))).causes
    assert [one.cause for one in found] == [Cause.SLOW_ENCODE, Cause.CPU_CONTENTION]
    assert found[0].until is None
    assert found[1].until is not None


def test_figures_are_those_of_before_and_during() -> None:
    found = diagnose(log(CALM, Part(stretch=2.48, switching=2000))).causes[0]
    figures = {one.name: one for one in found.evidence}
    pace = figures["inference per megapixel"]
    # 3,700 ms of CPU time on two CPUs at a stretch of 1.24, then twice that.
    assert pace.before == pytest.approx(3700 * 1.24 / 2, rel=0.05)
    assert pace.during == pytest.approx(3700 * 2.48 / 2, rel=0.05)
    assert figures["CPU time of inference per megapixel"].change == pytest.approx(0, abs=0.05)
    assert found.slower == pytest.approx(1, rel=0.15)
    assert found.stage == "inference"


def test_shares_of_two_causes_are_those_of_the_time_that_they_add() -> None:
    found = diagnose(log(Part(s3=(20, 30)), Part(s3=(20, 116), stretch=2.48, switching=2000))).causes
    shares = {one.cause: one.share for one in found}
    assert set(shares) == {Cause.SLOW_S3, Cause.CPU_CONTENTION}
    # Both add 85 ms: an inference of 0.0369 megapixels takes so long, and the put was 30 ms.
    assert shares[Cause.SLOW_S3] == pytest.approx(0.5, abs=0.05)
    assert sum(shares.values()) == pytest.approx(1, abs=0.1)


class TestEnoughData:
    def test_39_conversions_are_too_few_and_40_are_enough(self) -> None:
        slow = Part(20, stretch=4.0, switching=2000)
        assert cause(Part(19), slow) is Cause.NOT_ENOUGH_DATA
        assert cause(Part(20), slow) is Cause.CPU_CONTENTION

    def test_an_empty_log_is_too_little(self) -> None:
        assert diagnose(log(CALM).clear()).cause is Cause.NOT_ENOUGH_DATA

    def test_failed_conversions_do_not_count(self) -> None:
        frame = log(Part(100)).with_columns(error=pl.lit("corrupt_image"))
        found = diagnose(frame)
        assert (found.cause, found.conversions, found.failed) == (Cause.NOT_ENOUGH_DATA, 0, 100)

    def test_a_few_slow_conversions_are_no_change(self) -> None:
        assert cause(Part(60), Part(6, stretch=4.0, switching=2000)) is Cause.NO_CHANGE
        assert cause(Part(60), Part(15, stretch=4.0, switching=2000)) is Cause.CPU_CONTENTION

    def test_a_change_in_the_first_15_has_nothing_before_it(self) -> None:
        assert cause(Part(8), Part(60, stretch=2.0, switching=2000)) is Cause.NO_CHANGE


class TestAllAlong:
    """There is no better time to compare with."""

    def test_more_threads_than_cpus_are_a_setting(self) -> None:
        found = diagnose(log(Part(60, threads=8, switching=2400))).causes[0]
        assert found.cause is Cause.THREAD_OVERSUBSCRIPTION
        assert found.since is None

    def test_two_threads_on_1_7_cpus_are_what_auto_takes(self) -> None:
        assert cause(Part(60, threads=2, vcpus=1.7)) is Cause.NO_CHANGE

    def test_waiting_for_many_others_is_queueing(self) -> None:
        assert cause(Part(60, queue=900, every_ms=80)) is Cause.QUEUEING

    def test_a_queue_that_is_full_again_and_again_is_queueing(self) -> None:
        found = diagnose(log(Part(80, busy=0.2)))
        assert found.cause is Cause.QUEUEING
        assert found.refused > 5

    def test_faults_at_each_conversion_are_paging(self) -> None:
        assert cause(Part(60, faults=40, stretch=1.9)) is Cause.PAGING

    def test_every_second_conversion_being_cold_is_cold_starts(self) -> None:
        assert cause(Part(60, cold=0.5)) is Cause.COLD_STARTS

    def test_threads_that_run_for_a_third_of_the_time_are_contention(self) -> None:
        assert cause(Part(60, stretch=3.2)) is Cause.CPU_CONTENTION

    def test_s3_that_takes_seconds_is_slow(self) -> None:
        assert cause(Part(60, s3=(900, 900))) is Cause.SLOW_S3


class TestConsequences:
    def test_a_queue_behind_slower_conversions_is_no_cause(self) -> None:
        found = diagnose(log(CALM, Part(stretch=4.0, switching=2000, queue=600, every_ms=200))).causes
        assert [one.cause for one in found] == [Cause.CPU_CONTENTION]
        assert any("follows" in one.name for one in found[0].evidence)

    def test_the_same_clients_wait_longer_where_conversions_take_longer(self) -> None:
        found = diagnose(log(Part(queue=85), Part(stretch=3.72, switching=2000, queue=255))).causes
        assert [one.cause for one in found] == [Cause.CPU_CONTENTION]

    def test_a_queue_that_more_requests_make_is_a_cause_beside_slower_conversions(self) -> None:
        during = Part(120, stretch=1.9, switching=2000, queue=900, every_ms=60)
        assert diagnose(log(replace(CALM, every_ms=300), during)).cause is Cause.QUEUEING

    def test_decoding_and_encoding_that_wait_for_cpus_are_no_causes(self) -> None:
        frame = log(Part(photo_side=1500), Part(photo_side=1500, stretch=3.0, switching=2000))
        last = pl.int_range(pl.len()) > 49
        slowed = [pl.when(last).then(pl.col(n) * 2.4).otherwise(pl.col(n)).alias(n) for n in ("decode", "encode")]
        assert [one.cause for one in diagnose(frame.with_columns(slowed)).causes] == [Cause.CPU_CONTENTION]


class TestEnvironments:
    def test_one_environment_with_a_neighbour_is_named(self) -> None:
        frames = [
            log(Part(60, name), Part(60, name, stretch=2.6 if name == "c" else 1.24), seed=seed)
            for seed, name in enumerate("abcdef")
        ]
        found = diagnose(pl.concat(frames).sort("at")).causes
        assert [one.cause for one in found] == [Cause.CPU_CONTENTION]
        assert (found[0].environments, found[0].of) == (("c",), 6)

    def test_an_environment_that_waits_all_the_time_is_told_by_the_others(self) -> None:
        frames = [
            log(Part(60, name, stretch=2.2 if name == "b" else 1.24), seed=seed)
            for seed, name in enumerate("abcd")
        ]
        found = diagnose(pl.concat(frames).sort("at")).causes
        assert [(one.cause, one.environments) for one in found] == [(Cause.CPU_CONTENTION, ("b",))]

    def test_a_neighbour_that_never_leaves_one_of_many_is_told_once(self) -> None:
        frames = [
            log(Part(60, name, stretch=3.6 if name == "b" else 1.24), seed=seed)
            for seed, name in enumerate("abcd")
        ]
        [found] = diagnose(pl.concat(frames).sort("at")).causes
        assert (found.cause, found.environments, found.share) == (Cause.CPU_CONTENTION, ("b",), 1.0)

    def test_a_leak_in_one_of_two_environments_names_it(self) -> None:
        frames = [log(Part(80, "a")), log(Part(80, "b", leak=2.0), seed=1)]
        found = diagnose(pl.concat(frames).sort("at")).causes
        assert [(one.cause, one.environments, one.of) for one in found] == [(Cause.MEMORY_GROWTH, ("b",), 2)]


class TestMemory:
    def test_steps_of_larger_photos_are_no_leak(self) -> None:
        assert cause(*[Part(32, memory=memory) for memory in (320.0, 369.0, 410.0)]) is Cause.NO_CHANGE
        assert cause(*[Part(25, memory=memory) for memory in (320.0, 380.0, 440.0, 500.0)]) is Cause.NO_CHANGE

    def test_kept_pictures_are_no_leak(self) -> None:
        kept = Part(80, hits=0.0, more={"output_bytes": 1024 * 1024}, leak=1.0)
        assert cause(kept) is Cause.NO_CHANGE
        assert cause(replace(kept, leak=2.5)) is Cause.MEMORY_GROWTH

    @pytest.mark.parametrize("leak", [0.4, 1.0, 12.0])
    def test_a_leak_of_any_size_is_growth(self, leak: float) -> None:
        [found] = diagnose(log(Part(100, leak=leak))).causes
        growth = next(one for one in found.evidence if one.name == "growth")
        assert growth.during == pytest.approx(leak, rel=0.1)

    def test_a_leak_that_came_to_rest_is_none(self) -> None:
        assert cause(Part(30, leak=2.0), Part(90, memory=380)) is Cause.NO_CHANGE

    def test_memory_that_goes_up_and_down_is_no_leak_in_one_of_many_environments(self) -> None:
        random = np.random.default_rng(0)
        frame = log(*[Part(48, f"{number}") for number in range(80)])
        memory = pl.Series("memory", random.uniform(700, 750, len(frame)))
        assert diagnose(frame.with_columns(memory)).cause is Cause.NO_CHANGE

    def test_conversions_until_memory_is_full_are_told(self) -> None:
        [found] = diagnose(log(Part(100, leak=2.0, more={"memory_size": 1769}))).causes
        left = next(one for one in found.evidence if one.name == "conversions until memory is full")
        # 1,769 MB less 520 MiB after a hundred, at 2 MiB each.
        assert left.during == pytest.approx((1769 - 520) / 2, rel=0.1)


class TestTime:
    def test_what_came_back_is_told_as_what_lasts(self) -> None:
        crowded = Part(stretch=2.6, switching=2000)
        [found] = diagnose(log(Part(100), Part(150, stretch=2.6, switching=2000), Part(100), crowded)).causes
        assert found.until is None
        assert found.since is not None
        assert found.since > EPOCH + timedelta(seconds=30)

    def test_what_is_over_is_told_as_over(self) -> None:
        [found] = diagnose(log(Part(100), Part(150, stretch=2.6, switching=2000), Part(150))).causes
        assert found.until is not None


def test_environments_of_three_conversions_two_at_a_time_are_cold_starts() -> None:
    parts = [Part(16, environment=name) for name in "ab"]
    brief = log(*parts, *[Part(6, environment=f"e{number}") for number in range(5)])
    # Each six are two environments' three, which answer in turns.
    place = pl.int_range(pl.len()).over("environment", "event")
    known = pl.col("environment").is_in(["a", "b"])
    second = ~known & (pl.col("event") == "conversion") & (place % 2 == 1)
    named = pl.when(second).then(pl.col("environment") + "x").otherwise(pl.col("environment"))
    inits = brief.filter(pl.col("event") == "init", ~known).with_columns(environment=pl.col("environment") + "x")
    cold = known & pl.col("cold_start") | ~known & (place < 2)
    both = pl.concat([brief.with_columns(environment=named, cold_start=cold), inits]).sort("at")
    assert diagnose(both).cause is Cause.COLD_STARTS


def test_some_photos_of_a_dearer_format_are_slow_decoding() -> None:
    photos = Part(50, photo_side=1500)
    some = log(photos, Part(50, photo_side=1500, progressive=True, every_ms=400), seed=4)
    usual = log(photos, Part(50, photo_side=1500, every_ms=400), seed=4)
    third = pl.int_range(pl.len()) % 3 == 0
    mixed = [
        pl.when(third).then(usual[name]).otherwise(some[name]).alias(name)
        for name in usual.columns
        if name != "at"
    ]
    assert diagnose(some.with_columns(mixed)).cause is Cause.SLOW_DECODE


def test_a_queue_that_came_and_went_within_seconds_is_none() -> None:
    calm, crowd = Part(80, every_ms=200), Part(16, queue=400, every_ms=60)
    found = diagnose(log(calm, crowd, replace(calm, count=40)))
    assert Cause.QUEUEING not in {one.cause for one in found.causes}


def test_conversions_that_come_in_pairs_are_no_queue() -> None:
    def pairs(frame: pl.DataFrame) -> pl.DataFrame:
        later = pl.when(pl.int_range(pl.len()) % 2 == 1).then(85.0).otherwise(0.2)
        return frame.with_columns(queue=later, duration=pl.col("duration") + later)

    alone, paired = log(Part(60, every_ms=300)), log(Part(60, every_ms=600), seed=1).filter(event="conversion")
    late = alone["at"].max() + (paired["at"] - paired["at"].min()) + timedelta(seconds=1)  # type: ignore[operator]
    both = pl.concat([alone, pairs(paired.with_columns(at=late, cold_start=False))])
    assert Cause.QUEUEING not in {one.cause for one in diagnose(both).causes}


def test_slow_s3_of_one_environment_among_twenty_is_told() -> None:
    parts = [Part(40, environment=f"e{number}", s3=(30, 20)) for number in range(19)]
    [found] = diagnose(log(*parts, Part(40, environment="slow", s3=(3000, 20)))).causes
    assert found.cause is Cause.SLOW_S3
    assert found.environments == ("slow",)


class TestNotes:
    def test_a_slower_processor_is_a_note_and_no_cause(self) -> None:
        found = diagnose(log(CALM, Part(work=5600)))
        assert (found.cause, found.causes) == (Cause.UNEXPLAINED, ())
        assert found.unexplained == pytest.approx(5600 / 3700 - 1, abs=0.05)
        assert as_text(found).startswith("No cause found: conversions take 5")
        assert "mostly for inference" in found.notes[0]
        assert "a lower clock, or a core and caches" in found.notes[0]

    def test_the_processor_is_named_where_environments_have_another_one_since(self) -> None:
        frame = log(CALM, Part(environment="b", work=5600))
        named = pl.when(pl.col("event") == "init").then(
            pl.col("environment").replace_strict({"a": "EPYC 9R14", "b": "Xeon 8259CL"})
        )
        [note] = diagnose(frame.with_columns(processor=named)).notes
        assert note.endswith("The processor itself is slower: Xeon 8259CL, which was EPYC 9R14 before")

    def test_faces_that_are_painted_more_often_are_said(self) -> None:
        found = diagnose(log(Part(every_ms=1500), Part(every_ms=1500, more={"face": 800.0})))
        assert found.cause is Cause.UNEXPLAINED
        assert "mostly for face: 0 ms before, 800 since" in found.notes[0]
        assert found.notes[0].endswith("Faces are painted in 100 % of the conversions, which were 0 %")

    def test_larger_files_that_take_s3_longer_in_proportion_are_not_slow_s3(self) -> None:
        photos = Part(s3=(20, 30), photo_side=1000, more={"input_bytes": 300_000})
        larger = Part(s3=(100, 30), photo_side=1000, more={"input_bytes": 1_500_000})
        found = diagnose(log(photos, larger))
        assert found.cause is Cause.UNEXPLAINED
        assert "Photos have 5.0 times, pictures 1.0 times as many bytes as before" in found.notes[0]

    def test_what_machines_differ_by_is_no_change(self) -> None:
        assert diagnose(log(CALM, Part(work=4300))).cause is Cause.NO_CHANGE

    def test_threads_that_wait_for_nobody_who_is_known_are_said(self) -> None:
        found = diagnose(log(CALM, Part(stretch=1.75)))
        assert found.cause is Cause.UNEXPLAINED
        assert found.notes[0].endswith("its threads wait, and nothing in the log says for whom")

    def test_a_log_without_cpu_times_does_not_say_that_the_processor_is_slower(self) -> None:
        frame = log(CALM, Part(stretch=2.5))
        [note] = diagnose(frame.drop("inference_cpu", "decode_cpu")).notes
        assert note.endswith("so that waiting for CPUs and a slower processor look alike")

    def test_failures_are_counted_by_code(self) -> None:
        frame = log(Part(100))  # the init line, then the conversions
        broken = pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("corrupt_image")).otherwise(pl.col("error"))
        assert "(corrupt_image 20)" in diagnose(frame.with_columns(error=broken)).notes[0]


def test_the_first_conversions_of_an_environment_are_apart() -> None:
    frame = log(Part(20), *[Part(2, f"e{number}") for number in range(30)], init=1.0)
    slow = pl.when("cold_start").then(pl.col("inference") * 3).otherwise(pl.col("inference")).alias("inference")
    causes = {one.cause for one in diagnose(frame.with_columns(slow)).causes}
    assert Cause.CPU_CONTENTION not in causes


def test_conversions_beside_each_other_count_as_waiting() -> None:
    """Two slots on two CPUs with two threads each: both take twice as long, and nothing is in the queue."""
    alone = log(Part(60, every_ms=200))
    beside = log(Part(60, every_ms=200), seed=1).filter(pl.col("event") == "conversion")
    late = alone["at"].max() + (beside["at"] - beside["at"].min()) + timedelta(seconds=1)  # type: ignore[operator]
    twice = beside.with_columns(at=late, cold_start=False, inference=pl.lit(170.0), inference_cpu=pl.lit(272.0))
    both = pl.concat([twice, twice.with_columns(at=pl.col("at") + timedelta(milliseconds=2))])
    assert diagnose(pl.concat([alone, both]).sort("at")).cause is Cause.QUEUEING


def test_the_whole_is_told_with_counts() -> None:
    found: Diagnosis = diagnose(log(Part(60, busy=0.03), seed=3))
    assert found.conversions + found.refused == 60
    assert found.environments == 1
    assert found.since is not None
    assert found.until is not None
    assert found.since < found.until
