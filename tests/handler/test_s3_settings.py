"""Settings that could make the function convert its own pictures are refused, with every other wrong one."""

from __future__ import annotations

import pytest

from handler.errors import SettingsError
from handler.settings import Settings

VARIABLES = ("OUTPUT_BUCKET", "OUTPUT_PREFIX", "OUTPUT_FORMAT", "UPLOAD_BUCKET", "ERROR_REPORTS", "FORCE")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_by_default_pictures_go_under_anime_in_the_same_bucket() -> None:
    settings = Settings.from_environment()
    assert (settings.output_bucket, settings.output_prefix, settings.output_format) == ("", "anime/", "auto")
    assert (settings.error_reports, settings.force, settings.upload_bucket) == (False, False, "")


@pytest.mark.parametrize(
    "variables",
    [
        {"OUTPUT_PREFIX": ""},
        {"OUTPUT_PREFIX": "", "UPLOAD_BUCKET": "in"},
        {"OUTPUT_PREFIX": "", "UPLOAD_BUCKET": "in", "OUTPUT_BUCKET": "in"},
        {"OUTPUT_PREFIX": "uploads/", "UPLOAD_BUCKET": "in"},
    ],
)
def test_what_could_loop_or_hide_uploads_is_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match="OUTPUT_PREFIX"):
        Settings.from_environment()


@pytest.mark.parametrize(
    "variables",
    [
        {"OUTPUT_PREFIX": "", "OUTPUT_BUCKET": "out"},
        {"OUTPUT_PREFIX": "", "OUTPUT_BUCKET": "out", "UPLOAD_BUCKET": "in"},
        {"OUTPUT_PREFIX": "uploads/", "OUTPUT_BUCKET": "out", "UPLOAD_BUCKET": "in"},
        {"OUTPUT_PREFIX": "bilder/アニメ/"},
    ],
)
def test_what_cannot_is_taken(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Settings.from_environment().output_prefix == variables["OUTPUT_PREFIX"]


@pytest.mark.parametrize("prefix", ["anime", "/anime/", "a//", "../", "a/./", "a\n/", "a" * 256 + "/", "/"])
def test_a_prefix_is_a_folder(monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    monkeypatch.setenv("OUTPUT_PREFIX", prefix)
    with pytest.raises(SettingsError, match="OUTPUT_PREFIX"):
        Settings.from_environment()


def test_every_wrong_variable_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"OUTPUT_PREFIX": "", "OUTPUT_FORMAT": "gif", "FORCE": "maybe", "MAX_SIDE": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        Settings.from_environment()
    assert all(name in str(refused.value) for name in ("OUTPUT_PREFIX", "OUTPUT_FORMAT", "FORCE", "MAX_SIDE"))
