"""The face detector's entry, and its download from a real HTTP server."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from handler.settings import DETECTOR
from layers.model.detector import Detector, load_detectors, pull_detector
from layers.model.errors import CorruptDownload, RegistryError
from tests.layers.hosting import Host, hosting

CONTENT = random.Random(1).randbytes(200_001)


@pytest.fixture
def host() -> Iterator[Host]:
    with hosting() as host:
        host.content = CONTENT
        yield host


@pytest.fixture
def wanted(host: Host) -> Detector:
    digest = hashlib.sha256(CONTENT).hexdigest()
    return Detector("x", "X", "", "x.onnx", host.url, digest, "Ask the author.\n", "https://example.org/x")


def test_yunet_comes_from_opencv_s_zoo_under_the_name_that_the_function_looks_for() -> None:
    yunet = load_detectors()["yunet"]
    assert yunet.file == DETECTOR
    assert yunet.url.startswith("https://media.githubusercontent.com/media/opencv/opencv_zoo/main/models/")
    assert yunet.url.endswith("/face_detection_yunet/face_detection_yunet_2023mar.onnx")
    assert "MIT" in yunet.licence
    assert "non-commercial" in yunet.licence


def test_its_digest_is_the_file_s(shared: Callable[[str], Path], tmp_path: Path) -> None:
    yunet = load_detectors()["yunet"]
    assert not yunet.installed(tmp_path)
    (tmp_path / yunet.file).write_bytes(shared("models/face_detection_yunet_2023mar.onnx").read_bytes())
    assert yunet.installed(tmp_path)
    (tmp_path / yunet.file).write_bytes(b"another")
    assert not yunet.installed(tmp_path)


def test_it_is_fetched_verified_and_its_licence_shown_and_fetched_once(
    host: Host, wanted: Detector, tmp_path: Path
) -> None:
    said: list[str] = []
    for _ in range(2):
        assert pull_detector(wanted, tmp_path / "styles", announce=said.append) == tmp_path / "styles" / "x.onnx"
    assert [path.name for path in (tmp_path / "styles").iterdir()] == ["x.onnx"]
    assert (tmp_path / "styles" / "x.onnx").read_bytes() == CONTENT
    assert said == ["X (x), https://example.org/x\nAsk the author."] * 2
    assert len(host.requests) == 1


def test_another_file_is_refused_and_removed_and_what_was_there_stays(
    host: Host, wanted: Detector, tmp_path: Path
) -> None:
    (tmp_path / "x.onnx").write_bytes(b"mine")
    digest = hashlib.sha256(CONTENT).hexdigest()
    with pytest.raises(CorruptDownload, match=rf"x: the 200,001 bytes that came have SHA-256 {digest}, not 00"):
        pull_detector(replace(wanted, sha256="00"), tmp_path, announce=pytest.fail)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("x.onnx", b"mine")]


@pytest.mark.parametrize("text", ["[x", "x = 1", '[x]\ntitle = "X"', None])
def test_a_list_that_cannot_be_read_says_so(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "detector.toml").write_text(text)
    with pytest.raises(RegistryError, match=r"detector\.toml is no readable list of detectors"):
        load_detectors(tmp_path / "detector.toml")
