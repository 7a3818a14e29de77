"""The doctor: each check on an environment that is well and on one that is not, and real ones that are broken."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handler.metrics import LogLines
from handler.settings import Settings
from handler.stages import TIMED, Stages
from infra.doctor import emf, function, machine, memory, resources, start
from infra.doctor.checks import Check, Finding, Patient, State, examine
from infra.doctor.command import as_text, looks
from infra.doctor.trial_run import Trial, run
from tests.infra.conftest import Run

OK, WARN, FAIL, SKIPPED = State.OK, State.WARN, State.FAIL, State.SKIPPED
TCMALLOC = "libtcmalloc_minimal.so.4"


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """A real init line and a real conversion's."""
    log, stages = LogLines(vcpus=2, threads=2), Stages()
    for name in TIMED:
        with stages(name):
            pass
    log.init("cel", 1.2, {})
    log.conversion(stages, "cel", "http-api", 64, None, {})
    init, conversion = capsys.readouterr().out.splitlines()
    return init, conversion


@pytest.fixture
def well(lines: tuple[str, str]) -> Patient:
    """Nothing is wrong with it."""
    init, conversion = lines

    def done(side: int, peak: float, ms: float) -> dict[str, Any]:
        said = {"side": side, "peak_mib": peak, "ms": ms, "status": 200, "allocators": [TCMALLOC]}
        return {**said, "log": [changed(conversion, CpuUtilization=[90.0], load_average=[0.5, 0.5, 0.5])]}

    facts = {
        "started": {"peak_mib": 300.0, "allocators": [TCMALLOC], "log": [init]},
        "frozen": {"parameters": 0, "training": False, "precision": "bfloat16"},
        "operators": {
            "kernel": "native",
            "precision": "bfloat16",
            "frozen": True,
            "needs": ["avx512f"],
            "lacking": [],
            "library": ["/styles/cel/libanimegan.so", "ab" * 32],
            "error": None,
        },
        "inference": {"inference": True, "gradient": False, "finite": True},
        "threads": {"torch": 2, "opencv": 2, "vcpus": 1.5, "bfloat16": True},
        "small": [done(256, 400.0, ms) for ms in (60.0, 50.0, 50.0, 50.0, 50.0)],
        "large": [done(512, 700.0, 200.0)],
        "throttled": 0,
    }
    return Patient({"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "3008"}, Settings(), Trial(facts, 0))


def changed(line: str, **more: Any) -> str:
    return json.dumps(json.loads(line) | more)


def with_facts(patient: Patient, **facts: Mapping[str, Any]) -> Patient:
    """Each fact with some of its entries replaced."""
    before = patient.trial.facts
    after = {**before, **{name: {**before[name], **said} for name, said in facts.items()}}
    return replace(patient, trial=replace(patient.trial, facts=after))


def in_environment(patient: Patient, **variables: str) -> Patient:
    return replace(patient, environment={**patient.environment, **variables})


def test_an_environment_that_is_well_has_nothing_to_change(well: Patient) -> None:
    of = dict(looks())
    del of["style"]  # which is looked for on disk
    checks = examine(well, list(of.items()))
    assert {one.name: one.state for one in checks} == dict.fromkeys(of, OK)
    assert not [one.change for one in checks if one.change]


@pytest.mark.parametrize(
    ("said", "state", "change"),
    [
        ({"torch": 4}, FAIL, "at most 2"),
        ({"opencv": 4}, FAIL, "at most 2"),
        ({"torch": 1}, WARN, "left idle"),
        ({"vcpus": 0.5}, FAIL, "at most 1"),
        ({"vcpus": 2}, OK, ""),
    ],
)
def test_threads_are_as_many_as_there_are_cpus_rounded_up(
    well: Patient, said: dict[str, Any], state: State, change: str
) -> None:
    found = resources.threads(with_facts(well, threads=said))
    assert found.state is state
    assert change in found.change


def test_conversions_at_a_time_share_the_cpus(well: Patient) -> None:
    found = resources.threads(replace(well, settings=Settings(max_concurrency=2)))
    assert (found.state, found.change) == (WARN, "MAX_CONCURRENCY=1, or NUM_THREADS=1")


@pytest.mark.parametrize(
    ("variables", "state"),
    [
        ({}, OK),
        ({"OMP_NUM_THREADS": "1"}, OK),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, WARN),
        ({"OMP_PROC_BIND": "true"}, WARN),
        ({"OMP_PROC_BIND": "false"}, OK),
        ({"KMP_AFFINITY": "granularity=fine,compact"}, WARN),
        ({"OPENBLAS_NUM_THREADS": "8"}, WARN),
    ],
)
def test_variables_that_bind_or_spin_threads_are_named(
    well: Patient, variables: dict[str, str], state: State
) -> None:
    found = resources.thread_variables(in_environment(well, **variables))
    assert found.state is state
    assert all(name in found.measured for name in variables if state is WARN)


@pytest.mark.parametrize(
    ("loaded", "variables", "state"),
    [
        ([], {}, WARN),
        ([], {"LD_PRELOAD": "/gone.so"}, WARN),
        ([TCMALLOC], {}, OK),
        (["libjemalloc.so.2"], {}, WARN),
        (["libjemalloc.so.2"], {"MALLOC_CONF": "oversize_threshold:0,dirty_decay_ms:-1"}, OK),
    ],
)
def test_the_allocator_is_the_one_that_is_mapped_and_keeps_pages(
    well: Patient, loaded: list[str], variables: dict[str, str], state: State
) -> None:
    found = resources.allocator(in_environment(with_facts(well, started={"allocators": loaded}), **variables))
    assert found.state is state
    assert bool(found.change) == (state is WARN)
    assert all(value in found.measured for name, value in variables.items() if name == "LD_PRELOAD")


@pytest.mark.parametrize(
    ("look", "name", "value", "state"),
    [
        (resources.kernel_cache, "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "0", WARN),
        (resources.kernel_cache, "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "many", WARN),
        (resources.kernel_cache, "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "100000", WARN),
        (resources.kernel_cache, "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "256", OK),
        (resources.opencv_limit, "OPENCV_IO_MAX_IMAGE_PIXELS", "many", FAIL),
        (resources.opencv_limit, "OPENCV_IO_MAX_IMAGE_PIXELS", "1000", FAIL),
        (resources.opencv_limit, "OPENCV_IO_MAX_IMAGE_PIXELS", "99999999999999999999", FAIL),
        (resources.opencv_limit, "OPENCV_IO_MAX_IMAGE_PIXELS", "1099511627776", WARN),
        (resources.opencv_limit, "OPENCV_IO_MAX_IMAGE_PIXELS", "50000000", OK),
        (resources.tmp, "TMPDIR", "/proc", WARN),
    ],
)
def test_a_variable_that_does_harm_is_told_with_what_to_do(
    well: Patient, look: Any, name: str, value: str, state: State
) -> None:
    found: Finding = look(in_environment(well, **{name: value}))
    assert found.state is state
    assert value in found.measured.replace(",", "")
    assert (name in found.change) == (state is not OK)


@pytest.mark.parametrize(
    ("size", "state"),
    [("3008", OK), ("770", WARN), ("650", FAIL)],  # the trial's peak is 700 MiB
)
def test_memory_is_what_was_measured_against_what_there_is(well: Patient, size: str, state: State) -> None:
    assert memory.memory(in_environment(well, AWS_LAMBDA_FUNCTION_MEMORY_SIZE=size)).state is state


def test_a_smaller_picture_is_no_advice_where_the_function_alone_is_too_large(well: Patient) -> None:
    tiny = in_environment(well, AWS_LAMBDA_FUNCTION_MEMORY_SIZE="128")  # it begins with 300 MiB
    assert memory.memory(tiny)[::2] == (FAIL, "give it more memory")
    assert memory.limits(tiny)[::2] == (FAIL, "give it more memory")


def test_limits_are_reckoned_from_two_sizes_and_from_what_decoding_takes(well: Patient) -> None:
    # 300 MiB more for 512² - 256² pixels, so 1,024² take 700 + 300 × (1024² - 512²) / (512² - 256²) = 1,900.
    found = memory.limits(well)
    assert "1,900 for MAX_SIDE=1024" in found.measured
    # 50 megapixels of 6 bytes are 286 MiB, the file twice 40, and it began with 300.
    assert "about 626 MiB for MAX_INPUT_PIXELS" in found.measured
    small = in_environment(well, AWS_LAMBDA_FUNCTION_MEMORY_SIZE="1769")
    assert memory.limits(small)[::2] == (FAIL, "lower MAX_SIDE, or give it more memory")
    many = replace(well, settings=Settings(max_input_pixels=1_000_000_000))
    assert memory.limits(many)[::2] == (FAIL, "lower MAX_INPUT_PIXELS, or give it more memory")
    both = in_environment(well, AWS_LAMBDA_FUNCTION_MEMORY_SIZE="600")
    assert memory.limits(both).change == "lower MAX_SIDE and MAX_INPUT_PIXELS, or give it more memory"


@pytest.mark.parametrize(
    ("fact", "said", "look", "state"),
    [
        ("frozen", {"parameters": 58}, function.frozen, FAIL),
        ("frozen", {"training": True}, function.frozen, FAIL),
        ("inference", {"inference": False}, function.inference_mode, FAIL),
        ("inference", {"gradient": True}, function.inference_mode, FAIL),
        ("inference", {"finite": False}, function.inference_mode, FAIL),
        ("frozen", {"precision": "float32"}, function.precision, WARN),
        ("threads", {"bfloat16": False}, function.precision, WARN),
    ],
)
def test_a_module_that_is_not_what_it_should_be_is_told(
    well: Patient, fact: str, said: dict[str, Any], look: Any, state: State
) -> None:
    found: Finding = look(with_facts(well, **{fact: said}))
    assert found.state is state
    assert found.change


def test_a_slow_first_conversion_and_an_init_near_lambda_s_limit_are_told(well: Patient) -> None:
    facts = dict(well.trial.facts)
    facts["small"] = [{**facts["small"][0], "ms": 400.0}, *facts["small"][1:]]
    slow = replace(well, trial=replace(well.trial, facts=facts))
    assert function.warm_up(slow).measured == "init 1,200 ms, first conversion 400 ms, later 50 ms"
    assert function.warm_up(slow).state is WARN
    for ms, state in ((8100.0, WARN), (10_100.0, FAIL)):
        init = [changed(well.trial.facts["started"]["log"][0], InitDuration=[ms])]
        assert function.warm_up(with_facts(well, started={"log": init})).state is state


def test_a_cpu_that_others_use_is_told(well: Patient) -> None:
    line = well.trial.facts["large"][0]["log"][0]

    def conversions(**more: Any) -> Patient:
        done = [{**well.trial.facts["large"][0], "log": [changed(line, **more)]}]
        return replace(well, trial=replace(well.trial, facts={**well.trial.facts, "small": [], "large": done}))

    assert resources.cpu(conversions()).state is OK
    assert "others" in resources.cpu(conversions(Duration=[1000.0], steal_time=0.2)).change  # 10 % of two CPUs
    assert "other processes" in resources.cpu(conversions(load_average=[7.0, 1.0, 1.0])).change
    throttled = replace(well, trial=replace(well.trial, facts={**well.trial.facts, "throttled": 3}))
    assert resources.quota(throttled).state is WARN


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("hello", "is no JSON"),
        ("{}", "lacks what the specification asks for"),
        ("[]", "lacks what the specification asks for"),
    ],
)
def test_a_line_that_is_none_is_told(well: Patient, line: str, fault: str) -> None:
    assert any(said.startswith(fault) for said in emf.faults(line))
    log = [*well.trial.facts["started"]["log"], line]
    found = function.log_line(with_facts(well, started={"log": log}))
    assert (found.state, fault in found.measured) == (FAIL, True)


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"Style": ""}, "has no text for the dimension Style"),
        ({"Style": 3}, "has no text for the dimension Style"),
        ({"Duration": ["12"]}, "as Duration"),
        ({"Duration": [True]}, "as Duration"),
        ({"Duration": []}, "as Duration"),
        ({"Duration": [float("nan")]}, "as Duration"),
        ({"Duration": [1.0] * 101}, "as Duration"),
    ],
)
def test_rules_of_the_embedded_metric_format_are_kept_watch_over(
    lines: tuple[str, str], more: dict[str, Any], fault: str
) -> None:
    assert not [said for line in lines for said in emf.faults(line)]
    assert fault in "; ".join(emf.faults(changed(lines[1], **more)))


def test_a_line_too_many_or_too_few_is_told(well: Patient) -> None:
    twice = well.trial.facts["large"][0]["log"] * 2
    log = [*well.trial.facts["started"]["log"], twice[0]]
    assert function.log_line(with_facts(well, started={"log": log})).measured == "7 lines for 6 conversions"


def test_what_cannot_be_seen_is_skipped_and_a_defect_of_a_check_stops_no_other(well: Patient) -> None:
    def broken(patient: Patient) -> Finding:
        raise RuntimeError("two\nlines")

    nothing = Patient({}, None, Trial({"throttled": 0}, -9))
    checks = examine(nothing, [("broken", broken), ("threads", resources.threads), ("start", start.start)])
    assert [one.state for one in checks] == [FAIL, SKIPPED, FAIL]
    assert "two\\nlines" in checks[0].measured
    assert "SIGKILL" in checks[2].measured


def test_what_to_change_stands_beneath_its_line() -> None:
    text = as_text([Check("threads", WARN, "torch 4", "NUM_THREADS=auto"), Check("style", OK, "cel", "")])
    assert text.splitlines() == [
        "warn     threads  torch 4",
        "                  -> NUM_THREADS=auto",
        "ok       style    cel",
        "",
        "1 warn, 1 ok",
    ]


def test_memory_is_bounded_by_the_function_the_cgroup_or_the_machine(tmp_path: Path) -> None:
    own, membership = tmp_path / "system.slice" / "anime.service", tmp_path / "membership"
    own.mkdir(parents=True)
    membership.write_text("0::/system.slice/anime.service\n")
    assert machine.memory_limit({"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769"}, tmp_path, membership)[0] == 1769
    assert machine.memory_limit({}, tmp_path, membership)[1] == "this machine's memory"
    (own / "memory.max").write_text("max\n")
    assert machine.memory_limit({}, tmp_path, membership)[1] == "this machine's memory"
    (own.parent / "memory.max").write_text("1073741824\n")
    assert machine.memory_limit({}, tmp_path, membership) == (1024, "the cgroup's limit")
    (own / "memory.max").write_text("536870912\n")
    assert machine.memory_limit({}, tmp_path, membership) == (512, "the cgroup's limit")
    for folder, times in ((own, 4), (own.parent, 3)):
        (folder / "cpu.stat").write_text(f"nr_periods 9\nnr_throttled {times}\nthrottled_usec 7\n")
    assert machine.throttled(tmp_path, membership) == 7
    assert machine.throttled(tmp_path, tmp_path / "none") == 0


def test_memory_of_cgroup_version_1_is_seen(tmp_path: Path) -> None:
    (tmp_path / "membership").write_text("4:memory:/docker/1f\n1:cpu,cpuacct:/docker/1f\n")
    (tmp_path / "memory").mkdir()
    limit = tmp_path / "memory" / "memory.limit_in_bytes"  # in the container, which sees no folder of the host's
    limit.write_text("9223372036854771712\n")
    assert machine.memory_limit({}, tmp_path, tmp_path / "membership")[1] == "this machine's memory"
    limit.write_text("734003200\n")
    assert machine.memory_limit({}, tmp_path, tmp_path / "membership") == (700, "the cgroup's limit")


def test_a_trial_that_takes_too_long_is_ended(environment: dict[str, str]) -> None:
    trial = run(64, environment, longest_s=0.2)
    assert (trial.facts, trial.code) == ({}, 1)
    assert "not done" in trial.stderr


# Real environments


def states(done: Any) -> dict[str, tuple[str, str]]:
    assert "Traceback" not in done.stdout + done.stderr
    return {one["name"]: (one["state"], one["measured"]) for one in json.loads(done.stdout)["checks"]}


def test_a_real_environment_is_measured_in_every_respect(animegan: Run, frozen_styles: Path) -> None:
    done = animegan("doctor", "--side", 64, "--memory", 3008, "--json", env={"OMP_WAIT_POLICY": "active"})
    found = states(done)
    assert list(found) == [name for name, _ in looks()]
    assert SKIPPED not in {state for state, _ in found.values()}
    sound = ("settings", "style", "function", "frozen module", "inference mode", "threads", "memory", "log line")
    assert {name: found[name][0] for name in sound} == dict.fromkeys(sound, OK)
    assert found["thread variables"] == (WARN, "OMP_WAIT_POLICY=active")
    assert "3,008 MiB" in found["memory"][1]
    assert done.returncode == (1 if FAIL in {state for state, _ in found.values()} else 0)


def test_too_many_threads_are_found_in_a_real_process(animegan: Run) -> None:
    done = animegan("doctor", "--side", 64, "--json", env={"NUM_THREADS": "9", "PRECISION": "float32"})
    state, measured = states(done)["threads"]
    assert (done.returncode, state) == (1, FAIL)
    assert measured.startswith("torch 9, OpenCV 9")


def test_a_style_whose_file_was_changed_is_named_and_the_rest_is_skipped(
    animegan: Run, frozen_styles: Path, tmp_path: Path
) -> None:
    styles = shutil.copytree(frozen_styles, tmp_path / "styles")
    for path in styles.glob("cel/*.pt"):
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    done = animegan("doctor", "--side", 64, "--json", env={"STYLES_DIR": str(styles)})
    found = states(done)
    assert done.returncode == 1
    assert (found["style"][0], found["function"][0]) == (FAIL, FAIL)
    assert "SHA-256" in found["style"][1]
    assert "SHA-256" in found["function"][1]
    assert {found[name][0] for name in ("frozen module", "threads", "memory", "limits", "log line")} == {SKIPPED}


@pytest.mark.parametrize(
    ("variables", "check", "said"),
    [
        ({"MAX_SIDE": "wide", "PRECISION": "int8"}, "settings", ("MAX_SIDE='wide'", "PRECISION='int8'")),
        ({"STYLE": "nope"}, "style", ("nope has no manifest",)),
        ({"STYLES_DIR": "/dev/null/styles"}, "style", ("/dev/null/styles/cel has no manifest",)),
        ({"OPENCV_IO_MAX_IMAGE_PIXELS": "many"}, "function", ("SIGABRT", "stoull")),
        ({"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "much"}, "function", ("'much'",)),
    ],
    ids=["settings", "style", "folder", "crash", "memory size"],
)
def test_a_broken_environment_is_a_finding_and_never_a_crash(
    animegan: Run, variables: dict[str, str], check: str, said: tuple[str, ...]
) -> None:
    done = animegan("doctor", "--side", 64, "--json", env=variables)
    state, measured = states(done)[check]
    assert (done.returncode, state) == (1, FAIL)
    assert all(text in measured for text in said)


@pytest.mark.parametrize(
    ("variables", "said", "change"),
    [
        ({"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "0"}, "positive integer", "unset AWS_LAMBDA_FUNCTION_MEMORY_SIZE"),
        ({}, "OSError: Too many open files", "ulimit -n"),
        ({}, "libtorch_cpu.so: failed to map segment from shared object", "ulimit -v"),
    ],
)
def test_what_hinders_the_start_is_told_with_its_cure(
    well: Patient, variables: dict[str, str], said: str, change: str
) -> None:
    refused = replace(in_environment(well, **variables), trial=Trial({"refused": said}, 1))
    found = start.start(refused)
    assert (found.state, change in found.change) == (FAIL, True)


def test_threads_beyond_what_a_system_gives_are_named_as_the_cause_of_a_crash(well: Patient) -> None:
    crashed = replace(well, settings=Settings(num_threads=99999), trial=Trial({}, -11))
    assert "NUM_THREADS=auto" in start.start(crashed).change


def test_a_function_without_a_name_is_told_which_variable_to_unset(well: Patient) -> None:
    init = changed(well.trial.facts["started"]["log"][0], FunctionName="")
    found = function.log_line(with_facts(well, started={"log": [init]}))
    assert (found.state, "unset AWS_LAMBDA_FUNCTION_NAME" in found.change) == (FAIL, True)


def test_a_manifest_of_another_version_and_a_native_module_that_is_gone_are_told(
    well: Patient, tmp_path: Path
) -> None:
    (tmp_path / "cel").mkdir()
    here = replace(well, settings=Settings(styles_dir=tmp_path))
    manifest: dict[str, Any] = {"schema_version": 9, "modules": {}}
    (tmp_path / "cel" / "manifest.json").write_text(json.dumps(manifest))
    assert "another version" in function.style(here).measured
    native = {"modules": {"float32": {"file": "native.pt", "sha256": "ab"}}}
    (tmp_path / "cel" / "manifest.json").write_text(
        json.dumps({**manifest, "schema_version": 1, "native": native})
    )
    assert function.style(here).measured.endswith("cel/native.pt")
    assert function.style(here).state is FAIL
