"""How far a frozen module may be from the eager generator."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from layers.model.errors import ParityError
from layers.model.parity import MAX_ABS_ERROR, MEAN_ABS_ERROR, SIZES, check_parity, measure


def brighter(x: Tensor) -> Tensor:
    return x + 0.25


def unchanged(x: Tensor) -> Tensor:
    return x


def test_measure_reports_the_largest_and_the_mean_error_of_each_size() -> None:
    def one_pixel_off(x: Tensor) -> Tensor:
        wrong = x.clone()
        wrong[0, 0, 0, 0] += 0.5
        return wrong

    worst, mean = measure(unchanged, one_pixel_off, torch.float32, [(4, 8), (16, 16)])
    assert worst == pytest.approx({"4x8": 0.5, "16x16": 0.5}, abs=1e-6)
    assert mean == pytest.approx({"4x8": 0.5 / 96, "16x16": 0.5 / 768}, abs=1e-6)


def test_measure_compares_with_the_eager_network_in_float32() -> None:
    worst, _ = measure(unchanged, unchanged, torch.bfloat16, [(32, 32)])
    assert 0 < worst["32x32"] <= 2**-9  # half of bfloat16's last place below 1


def test_measure_sees_the_plan_that_serves_and_not_the_first_call() -> None:
    calls: list[int] = []

    def settles(x: Tensor) -> Tensor:
        calls.append(1)
        return brighter(x) if len(calls) % 2 else x

    assert measure(unchanged, settles, torch.float32, [(8, 8), (8, 9)])[0] == {"8x8": 0, "8x9": 0}


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_another_network_is_no_parity(name: str) -> None:
    worst, mean = measure(unchanged, brighter, torch.float32, [(8, 8)])
    with pytest.raises(ParityError, match=rf"frozen {name} module differs .* at 8x8: .* 0\.25, over"):
        check_parity(name, worst, mean)


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
@pytest.mark.parametrize("error", [math.nan, math.inf])
def test_nan_is_no_parity(name: str, error: float) -> None:
    good, bad = {"64x64": 0.0, "65x87": 0.0}, {"64x64": 0.0, "65x87": error}
    with pytest.raises(ParityError, match="at 65x87"):
        check_parity(name, bad, bad)
    check_parity(name, good, good)


def test_float32_is_bound_by_its_worst_pixel_and_bfloat16_by_its_mean() -> None:
    assert MAX_ABS_ERROR == 1e-4
    bound, over = {"8x8": MAX_ABS_ERROR}, {"8x8": MAX_ABS_ERROR * 1.01}
    check_parity("float32", bound, over)
    with pytest.raises(ParityError, match="maximum absolute error"):
        check_parity("float32", over, {"8x8": 0.0})
    check_parity("bfloat16", {"8x8": 1.9}, {"8x8": MEAN_ABS_ERROR})
    with pytest.raises(ParityError, match="mean absolute error"):
        check_parity("bfloat16", {"8x8": 1.9}, {"8x8": MEAN_ABS_ERROR * 1.01})


@pytest.mark.parametrize("align_corners", [True, False])
def test_three_sizes_are_measured_one_of_them_no_multiple_of_32(align_corners: bool) -> None:
    sizes = SIZES[align_corners]
    assert len(sizes) == 3
    assert any(side % 32 for size in sizes for side in size)
    assert align_corners or not any(side % 4 for size in sizes for side in size)
