"""Face painting around a detector that finds what it is told to, and with the real one where it is there."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import cv2
import httpx
import numpy as np
import pytest
import torch
from torch import Tensor

from handler import image
from handler.alpha import Pixels
from handler.api import create_app
from handler.cache import Cache
from handler.convert import ConversionRequest
from handler.converter import Converter
from handler.errors import NotConfigured, OutOfTime
from handler.face_detector import SHA256, Detector
from handler.face_frames import Face, frame
from handler.faces import MOST, NONE_FOUND, TOO_SMALL, Faces, Painter
from handler.generator import FrozenGenerator, Manifest, Styles
from handler.lines import Caller
from handler.metrics import LogLines
from handler.operators import Kernel
from handler.settings import Settings
from handler.slots import Slots
from tests import s3_events
from tests.conftest import ROOT
from tests.handler.s3_fakes import Bucket, answer, status
from tests.pictures import asymmetric, by_pillow, difference, encoded

Shared = Callable[[str], Path]
Lines = Callable[[], list[dict[str, Any]]]
YUNET = "models/face_detection_yunet_2023mar.onnx"


def face(x: float = 0.5, y: float = 0.5, size: float = 0.2) -> Face:
    """One whose eyes are at (x, y), as far from each other as from the mouth: its square has 4·`size`."""
    half = size / 2
    eyes, mouth = ((x - half, y), (x + half, y)), ((x - half, y + size), (x + half, y + size))
    return Face((*eyes, (x, y + half), *mouth), size * 2, 0.9)


class Told(Detector):
    """Finds the same faces in every picture, and counts."""

    def __init__(self, *faces: Face) -> None:
        super().__init__(Path("nowhere"))
        self.faces, self.calls = faces, 0

    def check(self) -> None: ...

    def __call__(self, rgb: Pixels) -> tuple[Face, ...]:
        self.calls += 1
        return self.faces


class Same:
    """A generator that gives back what it is given, and remembers its shapes."""

    def __init__(self, face_size: int = 64, seconds_per_pixel: float = 1e-6, kernel: Kernel = "torch") -> None:
        self.manifest = SimpleNamespace(face_size=face_size, digest="same")
        self.precision, self.seconds_per_pixel, self.kernel = "float32", seconds_per_pixel, kernel
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, x: Tensor) -> Tensor:
        self.shapes.append(tuple(x.shape))
        assert x.is_contiguous(memory_format=torch.channels_last)
        return x


def painter(
    detector: Detector, generator: Same, remaining_ms: Callable[[], int] | None = None, kept: Cache | None = None
) -> Painter:
    faces = Faces(detector, kept or Cache(0))
    return faces.painter(lambda: b"digest", cast(FrozenGenerator, generator), remaining_ms, {})


PHOTO = asymmetric(320, 240)
PORTRAIT = ROOT / "docs" / "images" / "photo.jpg"


# What is painted


@pytest.mark.parametrize("face_size", [64, 128, 256])
def test_a_generator_that_changes_nothing_leaves_the_picture_as_it_was(face_size: int) -> None:
    paint = painter(Told(face(), face(0.05, 0.1), face(0.9, 0.9, 0.4)), Same(face_size))
    assert difference(paint(PHOTO, PHOTO), PHOTO) <= 2
    assert (paint.warnings, paint.said["faces_painted"]) == ([], 3)


@pytest.mark.parametrize(
    ("faces", "warning"), [((), NONE_FOUND), ((face(size=0.04), face(0.2, 0.2, 0.01)), TOO_SMALL)]
)
def test_a_photo_without_faces_to_paint_is_left_as_it_is_and_says_why(faces: Sequence[Face], warning: str) -> None:
    generator = Same()
    paint = painter(Told(*faces), generator)
    assert paint(PHOTO, PHOTO) is PHOTO
    assert (paint.warnings, generator.shapes, paint.said["faces_painted"]) == ([warning], [], 0)
    assert paint.said["faces"] == len(faces)


def test_of_a_crowd_the_largest_are_painted_and_the_rest_is_told() -> None:
    crowd = [face(0.1 * n, 0.5, 0.1 + 0.01 * n) for n in range(12)]
    generator = Same()
    paint = painter(Told(*crowd), generator)
    paint(PHOTO, PHOTO)
    assert sum(shape[0] for shape in generator.shapes) == MOST == 8
    assert paint.warnings == ["Of 12 faces, the 8 largest were painted."]
    assert paint.said["largest_face"] == round(0.42 * 240)


def test_on_native_operators_all_faces_are_one_batch() -> None:
    generator = Same(kernel="native")
    painter(Told(*[face(0.1 * n, 0.5) for n in range(1, 6)]), generator)(PHOTO, PHOTO)
    assert generator.shapes == [(5, 3, 64, 64)]
    none = Same(kernel="native")
    painter(Told(), none)(PHOTO, PHOTO)
    assert none.shapes == []


def test_on_torchs_kernels_a_batch_has_at_most_a_share_of_the_picture_s_pixels() -> None:
    generator = Same()
    painter(Told(*[face(0.1 * n, 0.5) for n in range(1, 6)]), generator)(PHOTO, PHOTO)
    assert generator.shapes == [(4, 3, 64, 64), (1, 3, 64, 64)]  # 320·240 / 4 is 4.7 times 64²
    generator = Same(face_size=160)
    painter(Told(face(), face(0.2)), generator)(PHOTO, PHOTO)
    assert generator.shapes == [(1, 3, 160, 160)] * 2
    generator = Same(face_size=512)
    painter(Told(face()), generator)(PHOTO, PHOTO)
    assert generator.shapes == [(1, 3, 512, 512)]


def test_only_as_many_faces_are_painted_as_there_is_time_for() -> None:
    generator = Same(seconds_per_pixel=1 / 64**2)  # a second a face, and 1.3 with what is around it
    crowd = Told(*[face(0.2 * n, 0.5) for n in range(1, 4)])
    paint = painter(crowd, generator, lambda: 2700)
    paint(PHOTO, PHOTO)
    assert generator.shapes == [(2, 3, 64, 64)]
    assert paint.warnings == ["There was time to paint 2 of 3 faces; ask for a smaller size."]
    assert paint.hurried
    none = painter(crowd, generator, lambda: 0)
    assert difference(none(PHOTO, PHOTO), PHOTO) == 0
    assert none.said["faces_painted"] == 0
    enough = painter(crowd, generator, lambda: 4000)
    enough(PHOTO, PHOTO)
    assert (enough.warnings, enough.hurried) == ([], False)


# Known before


def test_what_was_found_and_painted_is_kept_and_what_was_left_is_painted_later() -> None:
    kept, crowd = Cache(2**20), Told(*[face(0.2 * n, 0.5) for n in range(1, 4)])
    generator = Same(seconds_per_pixel=1 / 64**2)
    hurried = painter(crowd, generator, lambda: 1400, kept)
    hurried(PHOTO, PHOTO)
    later = painter(crowd, generator, None, kept)
    later(PHOTO, PHOTO)
    again = painter(crowd, generator, None, kept)
    assert difference(again(PHOTO, PHOTO), PHOTO) <= 2
    assert [shape[0] for shape in generator.shapes] == [1, 2]
    assert crowd.calls == 1
    said = [one.said["face_cache"] for one in (hurried, later, again)]
    assert said == ["miss", "partial", "hit"]
    assert again.said["face_cache_hit_rate"] == 0.333
    assert "detection_ms" not in again.said
    assert 3 * 64 * 64 * 3 < kept.bytes < 3 * 64 * 64 * 3 + 10_000


def test_a_photo_that_was_searched_small_is_searched_again_when_it_is_larger_and_not_the_other_way_round() -> None:
    kept, detector = Cache(2**22), Told(face())
    for width, calls in ((160, 1), (320, 2), (160, 2), (900, 3), (1000, 3)):  # from 640 on, the copy is the same
        photo = asymmetric(width, width * 3 // 4)
        painter(detector, Same(), None, kept)(photo, photo)
        assert detector.calls == calls, width


def test_faces_that_a_larger_copy_shows_in_another_order_get_none_of_each_other_s_squares() -> None:
    left, right = face(0.25, 0.4, 0.15), face(0.75, 0.6, 0.14)
    as_found = {320: (left, right), 640: (resized(left, 0.14), resized(right, 0.15))}

    class Sharper(Told):
        def __call__(self, rgb: Pixels) -> tuple[Face, ...]:
            return as_found[rgb.shape[1]]

    kept, detector = Cache(2**24), Sharper()
    for width in (320, 640, 320):
        photo = asymmetric(width, width * 3 // 4)
        assert difference(painter(detector, Same(128), None, kept)(photo, photo), photo) <= 2, width


def resized(found: Face, size: float) -> Face:
    (right, top), (left, _) = found.points[:2]
    return face((right + left) / 2, top, size)


def test_without_a_cache_nothing_is_hashed_and_nothing_kept() -> None:
    faces = Faces(Told(face()), Cache(0))
    paint = faces.painter(lambda: pytest.fail("hashed"), cast(FrozenGenerator, Same()), None, {})
    paint(PHOTO, PHOTO)
    assert paint.said["face_cache"] == "off"


# A conversion


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    """The log lines since it was called last."""
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def converting(settings: Settings, detector: Detector | None = None, keep: int = 2**22) -> Converter:
    """A converter of small faces that keeps what it made, and finds what `detector` does."""
    keeping = settings.model_copy(update={"cache_bytes": keep})
    converter = Converter(keeping, Styles(settings.styles_dir, "float32"), LogLines(1, 1))
    manifests = converter.styles.manifests
    manifests["cel"] = replace(manifests["cel"], face_size=64)
    if detector:
        vars(converter)["_faces"] = Faces(detector, converter.cache)
    return converter


WANTED = ConversionRequest(encoded(PHOTO, "PNG"), "cel", face=True)


def test_faces_are_a_stage_of_their_own_and_in_the_log_line(settings: Settings, lines: Lines) -> None:
    converter = converting(settings, Told(face(), face(0.2, 0.3)))
    done = converter(WANTED, Caller("test"))
    plain = converter(replace(WANTED, face=False), Caller("test"))
    order = ["decode", "preprocess", "inference", "postprocess", "face", "encode", "total"]
    assert list(done.timings) == order
    assert list(plain.timings) == [name for name in order if name != "face"]
    with_faces, without = lines()
    assert with_faces["FaceDuration"][0] > 0
    assert with_faces["stage_cpu"].keys() == set(order) - {"total"}
    assert {name: with_faces[name] for name in ("faces", "faces_painted", "largest_face")} == {
        "faces": 2,
        "faces_painted": 2,
        "largest_face": 96,
    }
    assert with_faces["detection_ms"] >= 0
    assert "FaceDuration" not in without
    assert not {"faces", "face_cache", "detection_ms"} & without.keys()


def test_only_where_faces_are_does_the_picture_differ_from_the_whole_one_s(settings: Settings) -> None:
    converter = converting(settings, Told(face(0.5, 0.4)))
    painted, plain = (converter(replace(WANTED, face=one), Caller("test")).data for one in (True, False))
    one, other = by_pillow(painted).astype(int), by_pillow(plain).astype(int)
    assert np.abs(one - other)[80:130, 130:190].max() > 3
    assert np.array_equal(one[:, :30], other[:, :30])


def test_no_face_is_the_whole_picture_s_conversion_and_a_warning(settings: Settings) -> None:
    converter = converting(settings, Told())
    done = converter(WANTED, Caller("test"))
    plain = converter(replace(WANTED, face=False), Caller("test"))
    assert (done.data, done.warnings, plain.warnings) == (plain.data, (NONE_FOUND,), ())


def test_the_same_selfie_again_costs_neither_detection_nor_painting(settings: Settings, lines: Lines) -> None:
    detector = Told(face())
    converter = converting(settings, detector)
    wishes = ({}, {}, {"format": "jpeg"}, {"format": "jpeg", "quality": 50}, {"size": 300}, {"side_by_side": True})
    for wish in wishes:
        converter(replace(WANTED, **wish), Caller("test"))  # type: ignore[arg-type]
    assert detector.calls == 1
    said = lines()
    assert [line["cache"] for line in said] == ["miss", "hit", "miss", "miss", "miss", "miss"]
    assert [line.get("face_cache") for line in said] == ["miss", None, "hit", "hit", "partial", "hit"]
    assert said[-1]["face_cache_hit_rate"] == 0.6
    painted, again = said[0]["stage_cpu"]["face"], said[2]["stage_cpu"]["face"]
    assert again < painted


def test_what_was_made_in_a_hurry_is_not_kept(settings: Settings, lines: Lines) -> None:
    converter = converting(settings, Told(face()))
    generator = converter.styles["cel"]
    left = iter([10**6, 0])  # enough when it is planned, none when faces are painted
    hurried = converter(WANTED, Caller("test", remaining_ms=lambda: next(left)))
    assert "0 of 1 faces" in hurried.warnings[0]
    assert converter(WANTED, Caller("test")).warnings == ()
    assert generator.seconds_per_pixel > 0
    assert [line["cache"] for line in lines()] == ["miss", "miss"]


def test_a_face_at_least_is_counted_when_time_is_planned(settings: Settings) -> None:
    converter = converting(settings, Told(face()))
    each = converter.styles["cel"].seconds_per_pixel * 1000 * 1.2
    whole, a_face = 320 * 240 * each, 64**2 * each
    between = Caller("test", remaining_ms=lambda: int(whole + a_face / 2))
    with pytest.raises(OutOfTime):
        converter(WANTED, between)
    converter(replace(WANTED, face=False), between)


def test_transparency_and_side_by_side_go_with_faces(settings: Settings) -> None:
    converter = converting(settings, Told(face()))
    half = np.dstack([PHOTO, np.full((240, 320), 128, np.uint8)])
    data = encoded(half, "PNG")
    alone = cv2.imdecode(np.frombuffer(converter(replace(WANTED, data=data), Caller("t")).data, np.uint8), -1)
    assert alone is not None
    assert (alone.shape, set(alone[..., 3].ravel())) == ((240, 320, 4), {128})
    beside = converter(replace(WANTED, side_by_side=True), Caller("t"))
    assert (beside.width, beside.height) == (640, 240)
    assert np.array_equal(by_pillow(beside.data)[:, :320], PHOTO)


# Without a detector


def test_without_a_detector_it_is_told_how_to_get_one_before_any_work(settings: Settings, lines: Lines) -> None:
    converter = converting(settings)
    told = r"none at .*yunet\.onnx \(FACE_DETECTOR: No such file or directory\): `animegan pull yunet`"
    with pytest.raises(NotConfigured, match=told) as why:
        converter(WANTED, Caller("test"))
    assert (why.value.status, why.value.code, list(why.value.timings)) == (501, "not_configured", ["total"])
    assert lines()[0]["error"] == "not_configured"


@pytest.mark.parametrize("content", [b"", b"no network at all"])
def test_a_file_that_is_no_detector_is_named(settings: Settings, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.onnx").write_bytes(content)
    damaged = settings.model_copy(update={"face_detector": str(tmp_path / "x.onnx")})
    told = r"x\.onnx \(FACE_DETECTOR\) is no YuNet detector \(.+\): pull it again"
    with pytest.raises(NotConfigured, match=told):
        converting(damaged)(WANTED, Caller("test"))


@pytest.mark.parametrize("at", [300, 100_000, 232_000])  # its header, its weights, its last ones
def test_a_detector_with_a_damaged_byte_is_named_before_opencv_reads_it(
    settings: Settings, tmp_path: Path, shared: Shared, at: int
) -> None:
    data = bytearray(shared(YUNET).read_bytes())
    data[at] ^= 0x40
    (tmp_path / "x.onnx").write_bytes(data)
    damaged = settings.model_copy(update={"face_detector": str(tmp_path / "x.onnx")})
    told = r"no YuNet detector \(its SHA-256 is \w{8}…, and that of .* 8f2383e4…\)"
    with pytest.raises(NotConfigured, match=told):
        converting(damaged)(WANTED, Caller("test"))


def test_whether_there_is_a_detector_goes_by_its_bytes_which_are_read_once(
    tmp_path: Path, shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, path, reads = shared(YUNET).read_bytes(), tmp_path / "x.onnx", list[Path]()
    whole = Detector(path)
    assert not whole.is_whole()
    path.write_bytes(data[:-1] + b"?")
    assert not whole.is_whole()
    path.write_bytes(data)
    os.utime(path, ns=(1, 1))
    read = Path.read_bytes

    def counted(path: Path) -> bytes:
        reads.append(path)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    assert [whole.is_whole(), whole.is_whole()] == [True, True]
    assert reads == [path]


@pytest.mark.parametrize("content", [None, b"", b"no network at all"])
def test_styles_say_that_there_are_no_faces_without_a_whole_detector(
    settings: Settings, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "x.onnx"
    if content is not None:
        path.write_bytes(content)
    damaged = settings.model_copy(update={"face_detector": str(path)})
    assert not converting(damaged).paints_faces()


def test_a_detector_that_is_a_folder_is_named_too(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match=r"none at .* \(FACE_DETECTOR: Is a directory\)"):
        Detector(tmp_path).check()


def test_the_detector_that_is_taken_is_the_one_that_pull_fetches() -> None:
    assert tomllib.loads((ROOT / "layers/model/detector.toml").read_text())["yunet"]["sha256"] == SHA256


@pytest.mark.anyio
async def test_over_http_it_is_a_501_in_json_query_and_form(settings: Settings) -> None:
    transport = httpx.ASGITransport(create_app(converting(settings), Slots(1, 1)))
    async with httpx.AsyncClient(transport=transport, base_url="http://function") as client:
        png = {"Content-Type": "image/png"}
        answers = [
            await client.post("/convert?face=true", content=WANTED.data, headers=png),
            await client.post("/convert", files={"file": WANTED.data}, data={"face": "true"}),
            await client.post("/convert?face=false", content=WANTED.data, headers=png),
        ]
    assert [answer.status_code for answer in answers] == [501, 501, 200]
    assert answers[0].json()["code"] == "not_configured"


def test_an_object_in_s3_whose_metadata_ask_for_faces_says_so_too(bucket: Bucket) -> None:
    bucket.put("a.png", WANTED.data, Metadata={"animegan-options": '{"face": true}'})
    said = answer(bucket.events(face_detector="nowhere"), s3_events.notification("a.png", bucket=bucket.name))
    assert status(said) == [("failed", "not_configured")]


def test_who_does_not_ask_for_faces_does_not_load_them(settings: Settings) -> None:
    script = (
        "import sys; from handler.main import _function; from handler.convert import ConversionRequest;"
        f"from handler.lines import Caller; photo = open({str(PORTRAIT)!r}, 'rb').read();"
        "_function._converter(ConversionRequest(photo, 'cel', size=64), Caller('test'));"
        "sys.exit(any(name.startswith('handler.face') for name in sys.modules))"
    )
    env = {"STYLES_DIR": str(settings.styles_dir), "PYTHONPATH": str(ROOT), "NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", script], env=env, check=True, capture_output=True, timeout=100)


def test_a_manifest_says_at_which_size_faces_are_painted_and_512_where_it_does_not(tmp_path: Path) -> None:
    said: dict[str, Any] = {"schema_version": 1, "style": "x", "title": "X", "licence": "", "modules": {}}
    said["checkpoint_sha256"] = "0"
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(said))
    assert Manifest.read(path).face_size == 512
    path.write_text(json.dumps({**said, "face_size": 256}))
    assert Manifest.read(path).face_size == 256


# The real detector, on real faces


@pytest.fixture(scope="module")
def yunet(shared: Shared) -> Detector:
    return Detector(shared(YUNET))


def read(path: Path) -> Pixels:
    data = path.read_bytes()
    return image.decode(data, image.check(data, 2**25, 10**8), 65535).rgb


def test_a_portrait_s_face_is_found_where_it_is(yunet: Detector) -> None:
    portrait = read(PORTRAIT)
    (found,) = yunet(portrait)
    (right_eye, left_eye, nose, right_mouth, left_mouth) = found.points
    assert right_eye[0] < nose[0] < left_eye[0]
    assert right_eye[1] == pytest.approx(left_eye[1], abs=0.02)
    assert right_eye[1] < nose[1] < right_mouth[1] == pytest.approx(left_mouth[1], abs=0.02)


def test_a_tilted_head_s_square_is_tilted_as_much(yunet: Detector) -> None:
    portrait = read(PORTRAIT)
    height, width = portrait.shape[:2]
    (upright,) = yunet(portrait)
    for degrees in (-30, 20):
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), -degrees, 0.8)
        (tilted,) = yunet(np.asarray(cv2.warpAffine(portrait, turn, (width, height)), np.uint8))
        before, after = (frame(found, (width, height)) for found in (upright, tilted))
        angle = math.degrees(math.atan2(*after.right[::-1]) - math.atan2(*before.right[::-1]))
        assert angle == pytest.approx(degrees, abs=10)
        assert after.side == pytest.approx(0.8 * before.side, rel=0.1)
        assert math.dist(after.centre, turn @ (*before.centre, 1)) < 0.05 * before.side


def test_no_face_is_found_where_there_is_none(yunet: Detector) -> None:
    for picture in (asymmetric(300, 200), np.zeros((1, 1, 3), np.uint8), np.zeros((3, 700, 3), np.uint8)):
        assert yunet(picture) == ()


def test_a_group_is_found_the_largest_first(yunet: Detector) -> None:
    portrait = read(PORTRAIT)
    group = np.zeros((700, 1000, 3), np.uint8)
    for (x, y), side in {(0, 0): 400, (400, 0): 500, (50, 450): 250, (600, 520): 160}.items():
        group[y : y + side, x : x + side] = cv2.resize(portrait, (side, side), interpolation=cv2.INTER_AREA)
    found = yunet(group)
    at = [(round(face.points[2][0] * 1000), round(face.points[2][1] * 700)) for face in found]
    assert [(x // 400, y // 450) for x, y in at] == [(1, 0), (0, 0), (0, 1), (1, 1)]


def test_threads_that_search_pictures_of_several_sizes_find_the_same_as_one(yunet: Detector) -> None:
    portrait = read(PORTRAIT)
    sizes = [(side, side + 32) for side in (160, 256, 320, 416)]
    pictures = [np.asarray(cv2.resize(portrait, size, interpolation=cv2.INTER_AREA), np.uint8) for size in sizes]
    alone = [yunet(picture) for picture in pictures]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(yunet, pictures * 3))
    assert together == alone * 3
    assert all(len(found) == 1 for found in alone)


def test_a_portrait_is_painted_by_the_function_with_the_detector_that_was_pulled(
    settings: Settings, shared: Shared, capfd: pytest.CaptureFixture[str]
) -> None:
    there = settings.model_copy(update={"face_detector": str(shared(YUNET))})
    request = ConversionRequest(PORTRAIT.read_bytes(), "cel", size=256, face=True)
    done = converting(there)(request, Caller("test"))
    out, err = capfd.readouterr()
    line = json.loads(out)
    assert (done.warnings, line["faces"], line["faces_painted"]) == ((), 1, 1)
    assert 0.3 * 256 < line["largest_face"] < 0.5 * 256
    assert err == ""  # OpenCV is kept quiet
