from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from layers.model.registry import load_registry
from tests.factories import checkpoint
from tests.infra.conftest import ROOT, Run, picture, size


class WrongFile(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"not the checkpoint"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def mirror() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), WrongFile) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/x.pt"
        server.shutdown()


def test_styles_lists_every_known_style_with_its_licence_and_whether_it_is_there(animegan: Run) -> None:
    said = json.loads(animegan("styles", "--json").stdout)
    assert [style["name"] for style in said] == list(load_registry())
    assert all(style["title"] and style["licence"] and style["source"] for style in said)
    assert {style["name"]: (style["origin"], style["installed"]) for style in said}["cel"] == ("built in", True)
    assert {style["origin"] for style in said[1:]} == {"published"}
    assert not any(style["installed"] for style in said[1:])
    text = animegan("styles").stdout
    assert "cel (Cel) – built in, installed\n" in text
    assert "paprika (Paprika) – published: animegan pull paprika\n" in text
    assert "    Licence: Non-commercial." in text


def test_a_frozen_checkpoint_is_listed_and_converts(animegan: Run, tmp_path: Path) -> None:
    env = {"STYLES_DIR": str(tmp_path / "styles")}
    weights = checkpoint(tmp_path / "mine.pt", seed=1)
    licence = ("--licence", "CC0", "--title", "Mine", "--no-align-corners")
    frozen = animegan("freeze", weights, "--style", "mine", *licence, "--json", env=env)
    assert frozen.returncode == 0, frozen.stderr
    manifest = json.loads(frozen.stdout)
    assert (manifest["style"], manifest["title"], manifest["licence"]) == ("mine", "Mine", "CC0")
    assert (manifest["source"], manifest["align_corners"]) == ("mine.pt", False)
    assert "mine (Mine) – frozen here, installed\n" in animegan("styles", env=env).stdout
    (tmp_path / "a.jpg").write_bytes(picture())
    done = animegan("convert", tmp_path / "a.jpg", "--style", "mine", "--json", env=env)
    assert json.loads(done.stdout)["style"] == "mine"
    assert size(tmp_path / "a.anime.jpg") == (96, 64)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"no checkpoint", "mine", "the first missing key is "),
        (None, "mine", "No such file or directory"),
        (b"", "../mine", "'../mine' cannot name a style"),
        (b"", "cel", "cel is the built-in style"),
    ],
)
def test_what_cannot_be_frozen_is_one_line(
    animegan: Run, tmp_path: Path, content: bytes | None, name: str, message: str
) -> None:
    if content is not None:
        (tmp_path / "x.pt").write_bytes(content)
    env = {"STYLES_DIR": str(tmp_path / "styles")}
    done = animegan("freeze", tmp_path / "x.pt", "--style", name, env=env)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "styles" / name).exists()


def test_a_mirror_with_another_file_is_refused_in_one_line(animegan: Run, tmp_path: Path, mirror: str) -> None:
    done = animegan("pull", "paprika", "--url", mirror, env={"STYLES_DIR": str(tmp_path)})
    assert done.returncode == 1
    assert "git blob id" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.rglob("*.pt*"))


def test_a_name_that_is_unknown_and_a_host_that_is_away_are_one_line(animegan: Run, tmp_path: Path) -> None:
    env = {"STYLES_DIR": str(tmp_path)}
    unknown = animegan("pull", "paprica", env=env)
    away = animegan("pull", "paprika", "--url", "http://127.0.0.1:9/x.pt", env=env)
    assert "did you mean paprika?" in unknown.stderr
    assert "cannot be reached" in away.stderr
    for done in (unknown, away):
        assert done.returncode == 1
        assert done.stderr.startswith("animegan: ")
        assert len(done.stderr.splitlines()) == 1


def test_the_detector_is_listed_with_its_licence_and_refused_from_a_mirror_with_another_file(
    animegan: Run, tmp_path: Path, mirror: str
) -> None:
    env = {"STYLES_DIR": str(tmp_path)}
    text = animegan("styles", env=env).stdout
    assert "yunet (YuNet) – no style, published: animegan pull yunet\n" in text
    assert "WIDER FACE" in text
    done = animegan("pull", "yunet", "--url", mirror, env=env)
    assert done.returncode == 1
    assert "SHA-256" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.rglob("*.onnx*"))


def test_faces_without_a_detector_are_one_line_that_says_how_to_get_it(animegan: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(picture())
    done = animegan("convert", tmp_path / "a.jpg", "--face")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("run `animegan pull yunet`")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "a.anime.jpg").exists()


def test_faces_are_painted_from_the_command_line(
    animegan: Run, tmp_path: Path, shared: Callable[[str], Path]
) -> None:
    detector = {"FACE_DETECTOR": str(shared("models/face_detection_yunet_2023mar.onnx"))}
    photo, log = ROOT / "docs" / "images" / "photo.jpg", tmp_path / "log"
    options = ("--face", "--size", "200", "-o", tmp_path / "out", "--log", log)
    done = animegan("convert", photo, *options, env=detector)
    assert (done.returncode, size(tmp_path / "out" / "photo.jpg")) == (0, (200, 200)), done.stderr
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert [(line["faces"], line["faces_painted"]) for line in lines if line["event"] == "conversion"] == [(1, 1)]


def test_the_sheet_of_faces_has_three_pictures_of_each(
    animegan: Run, tmp_path: Path, shared: Callable[[str], Path]
) -> None:
    detector = {"FACE_DETECTOR": str(shared("models/face_detection_yunet_2023mar.onnx"))}
    photo = ROOT / "docs" / "images" / "photo.jpg"
    options = ("--size", "200", "--json", "--sheet", tmp_path / "sheet.jpg")
    done = animegan("bench", "faces", photo, *options, env=detector)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    said = [row[name] for name in ("photo", "width", "faces", "painted", "warnings")]
    assert said == ["photo.jpg", 200, 1, 1, []]
    assert size(tmp_path / "sheet.jpg") == (1260, 210)
