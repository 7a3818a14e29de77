"""Settings, thread and precision policy, slots, and the loading of frozen styles."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from handler import cpu
from handler.cpu import best_precision, set_threads, vcpus
from handler.errors import Busy, SettingsError, StyleError, UnknownStyle
from handler.generator import FrozenGenerator, Manifest, Styles
from handler.settings import Settings, default_styles_dir
from handler.slots import Slots


def test_settings_have_the_documented_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    settings = Settings.from_environment()
    assert (settings.style, settings.max_input_pixels, settings.max_side) == ("cel", 50_000_000, 1024)
    assert (settings.precision, settings.num_threads) == ("auto", "auto")
    # The picture in base64 and 64 KiB around it just fit into Lambda's response of 6,291,556 bytes.
    assert -(-settings.max_output_bytes // 3) * 4 + 64 * 1024 <= 6_291_556


def test_every_wrong_variable_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MAX_SIDE": "huge", "PRECISION": "int8", "MAX_QUEUE": "-1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=r"MAX_SIDE='huge'.*PRECISION='int8'.*MAX_QUEUE='-1'"):
        Settings.from_environment()


@pytest.mark.parametrize("threads", ["0", "-2", "many", "99999"])
def test_num_threads_is_auto_or_what_a_process_can_start(monkeypatch: pytest.MonkeyPatch, threads: str) -> None:
    monkeypatch.setenv("NUM_THREADS", threads)
    with pytest.raises(SettingsError, match="NUM_THREADS"):
        Settings.from_environment()


def test_styles_lie_in_the_image_on_lambda_and_in_the_cache_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMBDA_TASK_ROOT", "/var/task")
    assert default_styles_dir() == Path("/var/task/styles")
    monkeypatch.delenv("LAMBDA_TASK_ROOT")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert default_styles_dir() == Path("/cache/animegan/styles")


@pytest.mark.parametrize(("memory", "expected"), [("1769", 1.0), ("885", 0.5), ("10240", 5.79)])
def test_lambda_gives_cpus_by_memory(monkeypatch: pytest.MonkeyPatch, memory: str, expected: float) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", memory)
    monkeypatch.setattr(cpu.os, "cpu_count", lambda: 6)
    assert vcpus() == expected


@pytest.mark.parametrize(("quota", "expected"), [(1.5, 1.5), (8.0, 4), (math.inf, 4)])
def test_elsewhere_affinity_and_cgroup_quota_decide(
    monkeypatch: pytest.MonkeyPatch, quota: float, expected: float
) -> None:
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", raising=False)
    monkeypatch.setattr(cpu.os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    assert vcpus(lambda: quota) == expected


def test_threads_are_cpus_rounded_up_unless_set() -> None:
    before = torch.get_num_threads()
    try:
        assert set_threads("auto", 1.2) == 2
        assert torch.get_num_threads() == 2
        assert set_threads(1, 4) == 1
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_a_chosen_precision_is_kept_and_auto_depends_on_the_cpu() -> None:
    assert best_precision("bfloat16") == "bfloat16"
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    able = "avx512_bf16" in flags or "amx_bf16" in flags
    assert best_precision("auto") == ("bfloat16" if able else "float32")


def test_the_queue_is_bounded_and_the_wait_is_measured() -> None:
    slots, gate, waits = Slots(concurrency=1, max_queue=1), threading.Event(), []
    first = slots.submit(lambda queued: gate.wait(5))
    second = slots.submit(waits.append)
    with pytest.raises(Busy, match="2 conversions") as refused:
        slots.submit(waits.append)
    assert refused.value.retry_after >= 1
    time.sleep(0.1)
    gate.set()
    first.result(5)
    second.result(5)
    assert waits[0] >= 0.1


def test_a_slot_is_free_again_after_a_failure() -> None:
    slots = Slots(concurrency=1, max_queue=0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            slots.submit(lambda queued: 1 / 0).result(5)
        while slots.submit(lambda queued: None).exception(5):  # pragma: no cover
            pass


def test_a_loaded_style_does_what_the_eager_network_does(frozen_styles: Path) -> None:
    from layers.model.generator import Generator
    from tests.factories import weights

    eager = Generator()
    eager.load_state_dict(weights())
    x = torch.rand(1, 3, 64, 96) * 2 - 1
    with torch.inference_mode():
        expected = eager.eval()(x)
    y = Styles(frozen_styles, "float32")["cel"](x)
    assert torch.allclose(y, expected, atol=1e-4)
    half = Styles(frozen_styles, "bfloat16")["cel"](x)
    assert (half - expected).abs().mean() < 0.03
    assert half.dtype == torch.float32


def test_a_style_is_loaded_once_by_whoever_asks_first(frozen_styles: Path) -> None:
    styles, loaded = Styles(frozen_styles, "float32"), set()
    threads = [threading.Thread(target=lambda: loaded.add(id(styles["cel"]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loaded) == 1


def test_an_unknown_style_is_named_with_those_there_are(frozen_styles: Path) -> None:
    with pytest.raises(UnknownStyle, match=r"'oil'.*cel"):
        Styles(frozen_styles, "float32")["oil"]


def test_a_missing_precision_falls_back_to_float32(frozen_styles: Path, tmp_path: Path) -> None:
    shutil.copytree(frozen_styles / "cel", tmp_path / "cel")
    manifest = json.loads((tmp_path / "cel/manifest.json").read_text())
    del manifest["modules"]["bfloat16"]
    (tmp_path / "cel/manifest.json").write_text(json.dumps(manifest))
    styles = Styles(tmp_path, "bfloat16")
    assert styles["cel"].precision == "float32"
    assert styles.described()[0]["precision"] == "float32"


def test_a_damaged_module_is_refused_by_its_digest(frozen_styles: Path, tmp_path: Path) -> None:
    shutil.copytree(frozen_styles / "cel", tmp_path / "cel")
    module = tmp_path / "cel/float32.pt"
    data = bytearray(module.read_bytes())
    data[len(data) // 2] ^= 1
    module.write_bytes(data)
    with pytest.raises(StyleError, match=r"float32\.pt.*SHA-256"):
        Styles(tmp_path, "float32", "torch")["cel"]
    module.unlink()
    with pytest.raises(StyleError, match=r"float32\.pt cannot be loaded"):
        Styles(tmp_path, "float32", "torch")["cel"]


def test_a_damaged_style_does_not_take_the_others_with_it(frozen_styles: Path, tmp_path: Path) -> None:
    shutil.copytree(frozen_styles / "cel", tmp_path / "cel")
    (tmp_path / "oil").mkdir()
    (tmp_path / "oil/manifest.json").write_text("{")
    styles = Styles(tmp_path, "float32")
    assert styles.default("cel")
    with pytest.raises(UnknownStyle, match="cel"):
        styles["oil"]
    with pytest.raises(StyleError, match=r"STYLE=oil: .*manifest\.json is no manifest"):
        styles.default("oil")


def test_a_manifest_of_another_schema_is_not_guessed_at(frozen_styles: Path, tmp_path: Path) -> None:
    said = json.loads((frozen_styles / "cel/manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(said | {"schema_version": 2}))
    with pytest.raises(StyleError, match="schema_version 2, not 1"):
        Manifest.read(tmp_path / "manifest.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"modules": {}}'])
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(StyleError, match=r"manifest\.json is no manifest"):
        Manifest.read(path)


def test_the_time_per_pixel_is_the_least_seen_once_three_conversions_have_told(frozen_styles: Path) -> None:
    manifest = Manifest.read(frozen_styles / "cel/manifest.json")
    generator = FrozenGenerator(frozen_styles / "cel", manifest, "float32")
    generator.warm_up()
    small, large = torch.zeros(1, 3, 32, 32), torch.zeros(1, 3, 128, 128)
    generator(small)
    generator(small)
    assert generator.seconds_per_pixel == 0.22 / 512**2
    generator(small)
    told = generator.seconds_per_pixel
    assert told > 0.22 / 512**2  # no machine makes 32 by 32 pixels as fast as 512 by 512 on the fastest
    for _ in range(5):
        generator(large)
    assert generator.seconds_per_pixel <= told
    assert 0 < generator.seconds_per_pixel < 1


@pytest.mark.parametrize(("given", "kept"), [({}, "256"), ({"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64"}, "64")])
def test_kernels_kept_by_a_process_are_bounded_unless_the_user_says_how(given: dict[str, str], kept: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ONEDNN_")} | given
    program = "import os, handler; print(os.environ['ONEDNN_PRIMITIVE_CACHE_CAPACITY'])"
    done = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert done.strip() == kept


def test_the_processor_is_what_linux_calls_it(tmp_path: Path) -> None:
    (tmp_path / "x86").write_text(
        "processor\t: 0\nmodel name\t: AMD EPYC 9R14\n\nprocessor\t: 1\nmodel name\t: other\n"
    )
    (tmp_path / "arm").write_text("processor\t: 0\nCPU implementer\t: 0x41\n")
    said = [cpu.processor(tmp_path / name) for name in ("x86", "arm", "missing")]
    assert said == ["AMD EPYC 9R14", None, None]
