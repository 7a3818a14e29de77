"""styles.toml, names that are nearly right, and the built-in style put in place."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from layers.model.checkpoint import load_checkpoint
from layers.model.errors import CheckpointError, RegistryError, UnknownStyleName
from layers.model.freeze import freeze_style
from layers.model.manifest import Manifest
from layers.model.registry import Style, ensure_builtin, find_style, is_current, load_registry
from tests.conftest import ROOT
from tests.factories import checkpoint

PUBLISHED = {  # from the issue
    "celeba_distill": "3b7ea61b02254980831cc3bc77af30666dbc999c",
    "face_paint_512_v1": "19c1a1da4d9580186109a2b055d91044e5127de6",
    "face_paint_512_v2": "d75102f8f201ddaf8dbe6b913b1a97585b55f838",
    "paprika": "58086c9db9fc7a9e5c2876ca31b8079599352643",
}


def style(path: Path | None, **changes: object) -> Style:
    mine = Style("mine", "Mine", "", "CC0\n", "a test", True, path)
    return replace(mine, **changes)  # type: ignore[arg-type]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_cel_is_built_in_and_the_four_published_styles_have_their_blob_ids() -> None:
    registry = load_registry()
    assert {name: style.blob_id for name, style in registry.items() if not style.builtin} == PUBLISHED
    assert [name for name, style in registry.items() if style.builtin] == ["cel"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_style_comes_from_its_repository_with_a_licence_that_forbids_selling(name: str) -> None:
    found = find_style(name)
    repository = "bryandlee/animegan2-pytorch"
    assert found.origin == f"https://raw.githubusercontent.com/{repository}/main/weights/{name}.pt"
    assert found.source == f"https://github.com/{repository}"
    assert "non-commercial" in found.licence.lower()
    assert found.title
    assert found.description
    assert found.align_corners


def test_each_style_says_at_which_size_it_paints_faces() -> None:
    sizes = {name: style.face_size for name, style in load_registry().items()}
    assert sizes == {"cel": 384, "paprika": 512, "celeba_distill": 256} | dict.fromkeys(
        ("face_paint_512_v1", "face_paint_512_v2"), 512
    )


def test_the_built_in_weights_load_and_are_at_most_9_mb() -> None:
    path = find_style("cel").checkpoint
    assert path is not None
    if not path.is_file():
        pytest.skip(f"{path} is not trained yet")
    assert path.stat().st_size <= 9_000_000
    load_checkpoint(path)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("paprka", "paprika"),
        ("Paprika", "paprika"),
        ("CEL", "cel"),
        ("celeba", "celeba_distill"),
        ("face_paint_v2", "face_paint_512_v2"),
        ("face-paint-512-v1", "face_paint_512_v1"),
    ],
)
def test_a_near_miss_is_told_which_name_was_meant(name: str, meant: str) -> None:
    with pytest.raises(UnknownStyleName, match=rf"no style is called '{name}': did you mean (\w+ or )?{meant}"):
        find_style(name)


def test_a_name_like_no_other_gets_the_list_alone() -> None:
    with pytest.raises(UnknownStyleName, match=r"called 'zzz': Known styles: cel, .*celeba_distill\.") as caught:
        find_style("zzz")
    assert "did you mean" not in str(caught.value)


COMPLETE = 'title="T"\ndescription="D"\nlicence="L"\nsource="S"\nalign_corners=true\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[cel", "no readable list of styles"),
        ("cel = 1", "no readable list of styles"),
        ('cel = "checkpoint"', "no readable list of styles"),
        ('[cel]\ntitle = "T"\ncheckpoint = "x.pt"', "no readable list of styles .*missing"),
        (f'[cel]\n{COMPLETE}checkpoint = "x.pt"\ncolour = "red"', "no readable list of styles .*colour"),
        (f"[cel]\n{COMPLETE}checkpoint = 7", "no readable list of styles"),
        (f"[cel]\n{COMPLETE}", "style cel needs a checkpoint, or a url and a blob_id"),
        (f'[cel]\n{COMPLETE}url = "https://x"', "style cel needs a checkpoint, or a url and a blob_id"),
        (f'[cel]\n{COMPLETE}blob_id = "00"', "style cel needs a checkpoint, or a url and a blob_id"),
    ],
)
def test_a_damaged_list_of_styles_says_what_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=message):
        load_registry(written(tmp_path / "styles.toml", text))


def test_a_list_that_is_absent_or_not_utf8_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes('[cel]\ntitle = "Ünï"'.encode("latin-1"))
    for name in ("absent.toml", "latin.toml"):
        with pytest.raises(RegistryError, match=rf"{name} is no readable list of styles"):
            load_registry(tmp_path / name)


def test_a_checkpoint_lies_relative_to_its_list(tmp_path: Path) -> None:
    path = written(tmp_path / "styles.toml", f'[cel]\n{COMPLETE}checkpoint = "weights/x.pt"')
    assert load_registry(path)["cel"].checkpoint == tmp_path / "weights" / "x.pt"


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Style]:
    """A styles directory, and the style in it, just put there by ensure_builtin."""
    base = tmp_path_factory.mktemp("builtin")
    mine = style(checkpoint(base / "mine.pt"))
    assert ensure_builtin(base / "styles", mine) == base / "styles" / "mine"
    return base / "styles", mine


@pytest.fixture
def installed(frozen: tuple[Path, Style], tmp_path: Path) -> tuple[Path, Style]:
    """A copy of `frozen` that the test may spoil, its checkpoint too."""
    shutil.copytree(frozen[0], tmp_path / "styles")
    assert frozen[1].checkpoint is not None
    return tmp_path / "styles", replace(
        frozen[1], checkpoint=Path(shutil.copy(frozen[1].checkpoint, tmp_path / "x.pt"))
    )


def identity(styles_dir: Path) -> list[tuple[str, int, int]]:
    files = sorted((styles_dir / "mine").iterdir())
    return [(file.name, file.stat().st_ino, file.stat().st_mtime_ns) for file in files]


def test_the_built_in_style_is_frozen_once_and_not_again(installed: tuple[Path, Style]) -> None:
    styles_dir, mine = installed
    before = identity(styles_dir)
    assert {"bfloat16.pt", "float32.pt", "manifest.json"} <= {name for name, _, _ in before}
    assert is_current(styles_dir, mine)
    ensure_builtin(styles_dir, mine)
    assert identity(styles_dir) == before


def test_the_built_in_style_is_frozen_again_after_its_checkpoint_changed(installed: tuple[Path, Style]) -> None:
    styles_dir, mine = installed
    assert mine.checkpoint is not None
    checkpoint(mine.checkpoint, seed=1)
    assert not is_current(styles_dir, mine)
    before = identity(styles_dir)
    ensure_builtin(styles_dir, mine)
    assert is_current(styles_dir, mine)
    assert identity(styles_dir) != before


@pytest.mark.parametrize("file", ["float32.pt", "bfloat16.pt", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_a_damaged_style_is_not_current(file: str, damage: str, installed: tuple[Path, Style]) -> None:
    path = installed[0] / "mine" / file
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(content[:-1000] if damage == "cut" else bytes([content[0] ^ 1]) + content[1:])
    assert Manifest.read(installed[0] / "mine") is None
    assert not is_current(*installed)


def test_a_damaged_style_is_frozen_again(installed: tuple[Path, Style]) -> None:
    (installed[0] / "mine" / "float32.pt").write_bytes(b"damage")
    ensure_builtin(*installed)
    assert is_current(*installed)
    assert [path.name for path in installed[0].iterdir()] == ["mine"]


def test_a_style_is_not_current_once_it_is_described_or_sampled_otherwise(installed: tuple[Path, Style]) -> None:
    styles_dir, mine = installed
    others = [replace(mine, licence="MIT"), replace(mine, title="Ours"), replace(mine, align_corners=False)]
    assert not any(is_current(styles_dir, other) for other in others)
    assert is_current(styles_dir, replace(mine, description="nothing that is frozen"))


@pytest.mark.parametrize(
    ("field", "value"), [("torch", "1.0"), ("schema_version", 0), ("modules", []), ("extra", 1)]
)
def test_a_manifest_of_another_torch_or_schema_is_not_current(
    field: str, value: object, installed: tuple[Path, Style]
) -> None:
    path = installed[0] / "mine" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), field: value}))
    assert not is_current(*installed)


def test_a_style_without_its_checkpoint_is_never_current_and_cannot_be_frozen(tmp_path: Path) -> None:
    lost = style(tmp_path / "lost.pt")
    assert not is_current(tmp_path, lost)
    with pytest.raises(CheckpointError, match=r"lost\.pt cannot be read \(No such file or directory\)"):
        ensure_builtin(tmp_path / "styles", lost)


def test_a_published_style_without_a_checkpoint_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="run `animegan pull paprika`"):
        freeze_style(find_style("paprika"), None, tmp_path)


def test_listing_styles_and_finding_one_in_place_import_no_torch() -> None:
    script = (
        "import pathlib, sys; from layers.model import registry\n"
        "registry.is_current(pathlib.Path('absent'), registry.find_style('cel'))\n"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
