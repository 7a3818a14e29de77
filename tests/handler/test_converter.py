"""What surrounds the pipeline: the log line of each way to end, and nothing but ConversionErrors out."""

from __future__ import annotations

import json

import pytest
import torch
from torch import Tensor

from handler.convert import ConversionRequest
from handler.converter import Converter
from handler.errors import ConversionError, EmptyImage, InternalError, OutOfTime
from handler.generator import FrozenGenerator, Styles
from handler.lines import Caller
from handler.metrics import LogLines
from handler.settings import Settings


class Faulty(FrozenGenerator):
    """A generator with a defect."""

    def __call__(self, x: Tensor) -> Tensor:
        raise RuntimeError("tensors have different moods")


class FaultyStyles(Styles):
    def __getitem__(self, name: str) -> FrozenGenerator:
        return Faulty(self._folder / name, self.manifests[name], "float32")


@pytest.fixture
def converter(settings: Settings) -> Converter:
    return Converter(settings, Styles(settings.styles_dir, "float32"), LogLines(1, 1))


def test_a_defect_becomes_an_internal_error_with_the_cause_in_the_log_alone(
    settings: Settings, photo: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    faulty = Converter(settings, FaultyStyles(settings.styles_dir, "float32"), LogLines(1, 1))
    with pytest.raises(InternalError) as raised:
        faulty(ConversionRequest(photo, "cel"), Caller("test"))
    assert "moods" not in str(raised.value)
    line = json.loads(capsys.readouterr().out)
    assert (line["error"], line["ConversionErrors"]) == ("internal_error", [1])
    assert "different moods" in line["defect"]


def test_an_error_carries_the_time_of_the_stages_that_it_got_through(converter: Converter, photo: bytes) -> None:
    with pytest.raises(ConversionError) as raised:
        converter(ConversionRequest(photo[:-200], "cel"), Caller("test"))
    assert list(raised.value.timings) == ["decode", "total"]


def test_only_the_first_conversion_is_a_cold_start(
    converter: Converter, photo: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(EmptyImage):
        converter(ConversionRequest(b"", "cel"), Caller("test"))
    converter(ConversionRequest(photo, "cel"), Caller("test"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["ColdStart"] for line in lines] == [[1], [0]]


def test_the_time_needed_is_reckoned_from_pixels_and_the_least_time_per_pixel(
    converter: Converter, photo: bytes
) -> None:
    converter.styles["cel"].seconds_per_pixel = 1e-3  # 96 by 64 pixels: 6.144 s, and a fifth more for the rest
    request = ConversionRequest(photo, "cel")
    with pytest.raises(OutOfTime, match="7373 ms and 7372 ms are left"):
        converter(request, Caller("test", remaining_ms=lambda: 7372))
    assert converter(request, Caller("test", remaining_ms=lambda: 7374)).width == 96


def test_a_network_that_answers_nonsense_still_gives_pixels(settings: Settings, photo: bytes) -> None:
    class Wild(Faulty):
        def __call__(self, x: Tensor) -> Tensor:
            return torch.full_like(x, 9.0)

    class WildStyles(FaultyStyles):
        def __getitem__(self, name: str) -> FrozenGenerator:
            return Wild(self._folder / name, self.manifests[name], "float32")

    wild = Converter(settings, WildStyles(settings.styles_dir, "float32"), LogLines(1, 1))
    assert wild(ConversionRequest(photo, "cel"), Caller("test")).format == "jpeg"
