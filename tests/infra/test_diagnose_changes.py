"""The change-point test against SciPy's, and against series that have no change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, norm

from infra.diagnose.changes import LEAST, change


def noise(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(0, 0.1, size)


def test_a_step_is_found_where_it_is() -> None:
    found = change(np.concatenate([noise(40, 1), 2 * noise(30, 2)]))
    assert found is not None
    assert (found.begin, found.end) == (40, 70)


def test_z_is_that_of_mann_and_whitney() -> None:
    """Independent values, so that no correlation is taken off: SciPy's p as a z is the same."""
    values = np.concatenate([noise(40, 3), 1.3 * noise(30, 4)])
    found = change(values)
    assert found is not None
    inside, outside = values[found.begin :], values[: found.begin]
    p = mannwhitneyu(inside, outside, alternative="greater", method="asymptotic", use_continuity=False).pvalue
    assert found.z <= -norm.ppf(p) + 1e-9
    assert found.z == pytest.approx(-norm.ppf(p), rel=0.25)


def test_a_stretch_in_the_middle_has_an_end() -> None:
    found = change(np.concatenate([noise(60, 1), 2 * noise(40, 2), noise(60, 3)]))
    assert found is not None
    assert found.begin == 60
    assert abs(found.end - 100) <= 1  # a large value beside it may as well belong to it


def test_a_slow_rise_is_a_change() -> None:
    assert change(noise(200, 1) * np.linspace(1, 2, 200)) is not None


def test_what_got_smaller_is_none() -> None:
    assert change(np.concatenate([2 * noise(50, 1), noise(50, 2)])) is None


def test_single_outliers_are_none() -> None:
    values = noise(100, 1)
    values[[70, 80, 90, 95, 99]] = 1e9
    assert change(values) is None


def test_a_flag_that_begins_to_be_set_half_the_time_is_a_change() -> None:
    set_ = np.random.default_rng(1).permutation([0.0, 1.0] * 20)
    found = change(np.concatenate([np.zeros(40), set_]))
    assert found is not None
    assert abs(found.begin - 40) <= 3


def test_those_who_wait_for_each_other_in_pairs_are_no_change() -> None:
    random = np.random.default_rng(2)
    waits = np.ravel([(0.0, wait) for wait in random.normal(18, 4, 60)])
    assert change(waits) is None


@pytest.mark.parametrize("size", [40, 100, 300])
@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_hardly_a_series_without_a_change_has_one(size: int, correlation: float) -> None:
    """In a thousand one may; 150 of each kind have two at most (by chance more once in two hundred times)."""
    random = np.random.default_rng(size)
    found = 0
    for _ in range(150):
        steps = random.normal(size=size)
        for at in range(1, size):
            steps[at] += correlation * steps[at - 1]
        found += change(steps) is not None
    assert found <= 2


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-3, 1e6), st.integers(0, 29))
def test_units_and_a_growing_function_change_nothing(seed: int, unit: float, shift: int) -> None:
    values = np.concatenate([noise(30, seed), (1 + shift / 20) * noise(30, seed + 1)])
    plain, scaled, squared = change(values), change(values * unit), change(values**2)
    assert plain == scaled == squared


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e9, 1e9), max_size=2 * LEAST - 1))
def test_too_few_values_have_no_change(values: list[float]) -> None:
    assert change(np.array(values)) is None


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0, 1.0, 5.0]), min_size=30, max_size=120))
def test_sides_are_never_shorter_than_they_may_be(values: list[float]) -> None:
    if found := change(np.array(values)):
        assert found.begin >= LEAST
        assert found.end - found.begin >= LEAST
        assert found.end == len(values) or len(values) - found.end >= LEAST


def test_a_long_series_takes_no_square_of_its_length() -> None:
    values = np.concatenate([noise(200_000, 1), 1.5 * noise(100_000, 2)])
    found = change(values)
    assert found is not None
    # Boundaries lie on a grid of 300.
    assert abs(found.begin - 200_000) <= 1000
