"""Checkpoint -> `<styles>/<style>/{float32.pt,bfloat16.pt,manifest.json}`, all or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import torch

from layers.model.errors import CheckpointError, ParityError, StyleNameError
from layers.model.freeze import freeze
from layers.model.generator import Generator
from layers.model.manifest import Manifest
from layers.model.operators import library
from tests.conftest import ROOT
from tests.factories import checkpoint, photo, weights

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.*is deprecated:DeprecationWarning")

NATIVE = ["libanimegan.so", "native.pt"] if library() else []
FILES = sorted(["bfloat16.pt", "float32.pt", "manifest.json", *NATIVE])
MODULES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@pytest.fixture(scope="module")
def weights_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("checkpoint") / "random.pt")


@pytest.fixture(scope="module")
def other_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("checkpoint") / "other.pt", seed=1, half=True)


@pytest.fixture(scope="module")
def styles(tmp_path_factory: pytest.TempPathFactory, weights_file: Path) -> Path:
    """Two styles of the same weights, one with each setting of align_corners."""
    out = tmp_path_factory.mktemp("styles") / "made" / "on demand"
    for name, align_corners in (("corners", True), ("no_corners", False)):
        freeze(weights_file, name, out, licence=" CC0 \n", source="x", align_corners=align_corners, title="Ünï")
    return out


def said(style: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((style / "manifest.json").read_text(encoding="utf-8"))
    return manifest


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def sha256sum(path: Path) -> str:
    return subprocess.run(["sha256sum", path], check=True, capture_output=True, text=True).stdout.split()[0]


def test_a_style_is_three_files_and_nothing_is_left_beside_it(styles: Path) -> None:
    assert sorted(path.name for path in styles.iterdir()) == ["corners", "no_corners"]
    for style in styles.iterdir():
        assert sorted(path.name for path in style.iterdir()) == FILES


def test_the_manifest_says_what_was_frozen_from_what(styles: Path, weights_file: Path) -> None:
    for name, align_corners in (("corners", True), ("no_corners", False)):
        manifest = said(styles / name)
        assert datetime.now(UTC) - datetime.fromisoformat(manifest.pop("created")) < timedelta(minutes=5)
        assert sorted(manifest.pop("modules")) == sorted(MODULES)
        assert bool(manifest.pop("native")) == bool(manifest.pop("operators")) == bool(library())
        assert manifest == {
            "style": name,
            "title": "Ünï",
            "licence": "CC0",
            "source": "x",
            "checkpoint_sha256": hashlib.sha256(weights_file.read_bytes()).hexdigest(),
            "align_corners": align_corners,
            "torch": torch.__version__,
            "size_multiple": 32,
            "face_size": 512,
            "schema_version": 1,
        }


def test_the_manifests_digests_are_sha256sums(styles: Path) -> None:
    for name in MODULES:
        module = said(styles / "corners")["modules"][name]
        assert module["sha256"] == sha256sum(styles / "corners" / module["file"])
        assert module["file"] == f"{name}.pt"


@pytest.mark.parametrize("style", ["corners", "no_corners"])
def test_parity_is_recorded_at_three_sizes_one_of_them_no_multiple_of_32(style: str, styles: Path) -> None:
    for name, bound in (("float32", 1e-4), ("bfloat16", 0.5)):
        parity = said(styles / style)["modules"][name]["parity"]
        assert len(parity) == 3
        assert any(int(side) % 32 for size in parity for side in size.split("x"))
        assert all(0 < error <= bound for error in parity.values())


def test_bfloat16_is_on_average_within_a_grey_level(styles: Path) -> None:
    for style in styles.iterdir():
        errors = said(style)["modules"]["bfloat16"]["mean_abs_error"]
        assert all(0 < error < 2 / 255 for error in errors.values())


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(("name", "tolerance"), [("float32", 1e-4), ("bfloat16", 0.1)])
@pytest.mark.parametrize(("style", "align_corners"), [("corners", True), ("no_corners", False)])
def test_a_frozen_module_paints_as_the_eager_generator_in_its_own_dtype(
    style: str, align_corners: bool, name: str, tolerance: float, layout: torch.memory_format, styles: Path
) -> None:
    eager = Generator(align_corners).eval()
    eager.load_state_dict(weights())
    frozen = torch.jit.load(styles / style / f"{name}.pt")  # type: ignore[no-untyped-call]
    x = photo(48, 72, seed=3)
    with torch.inference_mode():
        picture = frozen(x.to(memory_format=layout, dtype=MODULES[name]))
        assert picture.dtype is MODULES[name]
        assert (picture.float() - eager(x)).abs().max() <= tolerance


def test_align_corners_is_frozen_in(styles: Path) -> None:
    def paint(style: str) -> torch.Tensor:
        picture: torch.Tensor = torch.jit.load(styles / style / "float32.pt")(photo())  # type: ignore[no-untyped-call]
        return picture

    assert (paint("corners") - paint("no_corners")).abs().max() > 1e-2


def test_freezing_the_same_again_leaves_the_files_as_they_are(styles: Path, weights_file: Path) -> None:
    before = contents(styles / "corners")
    manifest = freeze(weights_file, "corners", styles, licence="CC0", source="x", title="Ünï")
    assert contents(styles / "corners") == before
    assert manifest == Manifest.read(styles / "corners")


def test_a_style_is_replaced_by_another_checkpoint_and_restored_when_damaged(
    tmp_path: Path, weights_file: Path, other_weights: Path
) -> None:
    freeze(weights_file, "cel", tmp_path, licence="CC0", source="x")
    first = contents(tmp_path / "cel")
    replaced = freeze(other_weights, "cel", tmp_path, licence="CC0", source="x")
    assert replaced == Manifest.read(tmp_path / "cel")
    assert replaced.title == "cel"
    assert replaced.checkpoint_sha256 == sha256sum(other_weights)
    assert contents(tmp_path / "cel")["float32.pt"] != first["float32.pt"]
    with (tmp_path / "cel" / "bfloat16.pt").open("r+b") as module:
        module.write(b"damage")
    assert Manifest.read(tmp_path / "cel") is None
    assert freeze(other_weights, "cel", tmp_path, licence="CC0", source="x") == Manifest.read(tmp_path / "cel")
    assert [path.name for path in tmp_path.iterdir()] == ["cel"]


@pytest.mark.parametrize(
    "name",
    [
        "../cel",
        "a/b",
        "/cel",
        ".cel",
        "..",
        "",
        "cel\n",
        "c:cel",
        "a\\b",
        "xé",
        "x" * 65,
        "cel.pt",
        "-rf",
        " ",
        "a\0",
    ],
)
def test_a_name_that_is_no_plain_word_is_refused_before_anything_is_read(name: str, tmp_path: Path) -> None:
    with pytest.raises(StyleNameError, match="cannot name a style: use letters, digits, - and _, at most 64"):
        freeze(tmp_path / "absent.pt", name, tmp_path / "styles", licence="", source="")
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_that_does_not_load_leaves_what_is_there(tmp_path: Path, frozen_styles: Path) -> None:
    (tmp_path / "cut.pt").write_bytes(b"PK")
    before = contents(frozen_styles / "cel")
    with pytest.raises(CheckpointError):
        freeze(tmp_path / "cut.pt", "cel", frozen_styles, licence="", source="")
    assert contents(frozen_styles / "cel") == before
    assert [path.name for path in frozen_styles.iterdir()] == ["cel"]


def test_weights_whose_pictures_are_not_numbers_fail_parity_and_write_nothing(tmp_path: Path) -> None:
    overflowing = {**weights(), "block_a.0.1.weight": torch.full((32, 3, 7, 7), 3e38)}  # finite, its sums are not
    torch.save(overflowing, tmp_path / "x.pt")
    with pytest.raises(
        ParityError, match=r"frozen float32 module differs .*error nan, over .*Nothing was written"
    ):
        freeze(tmp_path / "x.pt", "x", tmp_path / "styles", licence="", source="")
    assert list((tmp_path / "styles").iterdir()) == []


def test_weights_that_bfloat16_cannot_hold_fail_parity_and_write_nothing(tmp_path: Path) -> None:
    flat = weights()
    flat["block_e.2.2.bias"] += 100  # a bfloat16 near 100 knows halves only
    flat["out_layer.0.weight"] -= flat["out_layer.0.weight"].mean(1, keepdim=True)  # takes the 100 out again
    torch.save(flat, tmp_path / "x.pt")
    with pytest.raises(ParityError, match=r"frozen bfloat16 module differs .*mean absolute error"):
        freeze(tmp_path / "x.pt", "x", tmp_path / "styles", licence="", source="")
    assert list((tmp_path / "styles").iterdir()) == []


def freezing(weights_file: Path, out: Path) -> subprocess.Popen[bytes]:
    """Another process that freezes style `cel`."""
    script = (
        "import pathlib, sys; from layers.model.freeze import freeze\n"
        "freeze(pathlib.Path(sys.argv[1]), 'cel', pathlib.Path(sys.argv[2]), licence='CC0', source='x')"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", script, weights_file, out], cwd=ROOT, env=environment)


def test_two_processes_that_freeze_at_once_leave_one_intact_style(
    tmp_path: Path, weights_file: Path, other_weights: Path
) -> None:
    rivals = [freezing(file, tmp_path) for file in (weights_file, other_weights)]
    assert [rival.wait(120) for rival in rivals] == [0, 0]
    manifest = Manifest.read(tmp_path / "cel")
    assert manifest is not None
    assert manifest.checkpoint_sha256 in {sha256sum(weights_file), sha256sum(other_weights)}
    assert [path.name for path in tmp_path.iterdir()] == ["cel"]


@pytest.mark.parametrize("moment", ["new", "new/float32.pt", "new/bfloat16.pt"])
def test_a_killed_process_leaves_the_old_style_and_no_half_of_a_new_one(
    moment: str, tmp_path: Path, frozen_styles: Path, other_weights: Path
) -> None:
    old = contents(frozen_styles / "cel")
    (tmp_path / "cel").mkdir()
    for name, content in old.items():
        (tmp_path / "cel" / name).write_bytes(content)
    process = freezing(other_weights, tmp_path)
    while process.poll() is None and not list(tmp_path.glob(f".cel.*/{moment}")):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait(120) == -signal.SIGKILL
    assert contents(tmp_path / "cel") == old
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["cel"]
    assert list(tmp_path.glob("*/manifest.json")) == [tmp_path / "cel" / "manifest.json"]  # what the handler sees
