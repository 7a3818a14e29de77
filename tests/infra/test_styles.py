from __future__ import annotations

from pathlib import Path

import pytest

from infra import styles
from infra.errors import NotInstalled
from layers.model.errors import UnknownStyleName
from layers.model.registry import Style
from tests.factories import checkpoint


@pytest.fixture
def builtin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Style:
    """The built-in style with weights that exist, whether the real ones do or not."""
    weights = checkpoint(tmp_path / "cel.pt")
    style = Style("cel", "Cel", "", "MIT", "a test", True, checkpoint=weights)
    monkeypatch.setattr("layers.model.registry.find_style", lambda name, registry=None: style)
    monkeypatch.setattr("infra.styles.find_style", lambda name: style)
    return style


def test_the_built_in_style_is_frozen_at_its_first_use_and_says_so(
    builtin: Style, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STYLES_DIR", raising=False)
    said: list[str] = []
    styles.prepare("cel", tmp_path / "styles", said.append)
    styles.prepare("cel", tmp_path / "styles", said.append)
    assert said == [f"animegan: freezing the built-in style into {tmp_path / 'styles'}, once (some seconds)"]
    assert (tmp_path / "styles" / "cel" / "manifest.json").is_file()


def test_a_built_in_style_is_replaced_in_the_default_folder_alone(
    builtin: Style, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen: list[Path] = []
    monkeypatch.setattr("infra.styles.ensure_builtin", frozen.append)
    (tmp_path / "cel").mkdir()
    (tmp_path / "cel" / "manifest.json").write_text("of another version")
    monkeypatch.setenv("STYLES_DIR", str(tmp_path))
    styles.prepare("cel", tmp_path, lambda line: None)
    assert frozen == []
    monkeypatch.delenv("STYLES_DIR")
    styles.prepare("cel", tmp_path, lambda line: None)
    assert frozen == [tmp_path]


def test_another_style_must_have_been_pulled_or_frozen(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match="run `animegan pull paprika`"):
        styles.prepare("paprika", tmp_path, lambda line: None)
    with pytest.raises(UnknownStyleName, match="did you mean paprika"):
        styles.prepare("paprica", tmp_path, lambda line: None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "manifest.json").touch()
    styles.prepare("mine", tmp_path, lambda line: None)


@pytest.mark.parametrize("name", ["foo", "paprika"])
def test_a_style_that_is_not_there_names_the_variable_and_those_that_are(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "manifest.json").touch()
    told = rf"{name}.*set STYLE \(or --style\) to one that is installed: cel, mine"
    with pytest.raises((NotInstalled, UnknownStyleName), match=told):
        styles.prepare(name, tmp_path, lambda line: None)


def test_styles_dir_follows_the_variable_and_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STYLES_DIR", str(tmp_path))
    assert styles.styles_dir() == tmp_path
    monkeypatch.delenv("STYLES_DIR")
    monkeypatch.delenv("LAMBDA_TASK_ROOT", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert styles.styles_dir() == tmp_path / "animegan" / "styles"
