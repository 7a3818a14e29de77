"""Checks of memory: what the trial took, and what the largest photo and picture would."""

from __future__ import annotations

from infra.doctor import machine
from infra.doctor.checks import Finding, Patient, State, Unknown
from infra.doctor.machine import MIB

NEAR = 0.9  # of the memory
LEAST_SIDE = 64
DECODED_BYTES = 6  # a pixel: as decoded, and its copy turned upright or in sRGB


def memory(patient: Patient) -> Finding:
    """What the trial's largest conversion took, against what there is."""
    (largest,) = patient.fact("large")
    if largest["peak_mib"] is None:
        raise Unknown("this system does not tell a process's peak")
    limit, whose = machine.memory_limit(patient.environment)
    side, peak = largest["side"], largest["peak_mib"]
    measured = f"peak {peak:,.0f} MiB at {side}×{side}, {whose} {limit:,.0f} MiB"
    lower = "" if _started(patient) > NEAR * limit or side <= LEAST_SIDE else ", or lower MAX_SIDE"
    return _against(peak, limit, measured, f"give it more memory{lower}")


def limits(patient: Patient) -> Finding:
    """Whether the largest photo and the largest picture fit: an estimate, from what the trial's two sizes took."""
    chosen, small, (large,) = patient.configured(), patient.fact("small")[-1], patient.fact("large")
    if large["peak_mib"] is None:
        raise Unknown("this system does not tell a process's peak")
    started = _started(patient)
    decode = started + (chosen.max_input_pixels * DECODED_BYTES + 2 * chosen.max_input_bytes) / MIB
    inference = max(large["peak_mib"], _extrapolated(small, large, chosen.max_side**2))
    limit, whose = machine.memory_limit(patient.environment)
    measured = (
        f"about {decode:,.0f} MiB for MAX_INPUT_PIXELS={chosen.max_input_pixels:,}, "
        f"{inference:,.0f} for MAX_SIDE={chosen.max_side}; {whose} {limit:,.0f} MiB"
    )
    over = [("MAX_SIDE", inference), ("MAX_INPUT_PIXELS", decode)]
    lower = " and ".join(name for name, needed in over if needed > NEAR * limit)
    change = f"lower {lower}, or give it more memory" if started <= NEAR * limit else "give it more memory"
    return _against(max(decode, inference), limit, measured, change)


def _started(patient: Patient) -> float:
    """MiB before any photo: no limit on photos lowers it."""
    return float(patient.fact("started")["peak_mib"])


def _extrapolated(small: dict[str, float], large: dict[str, float], pixels: int) -> float:
    """MiB: what a conversion takes is linear in pixels."""
    apart = large["side"] ** 2 - small["side"] ** 2
    slope = (large["peak_mib"] - small["peak_mib"]) / apart if apart else 0.0
    return large["peak_mib"] + slope * (pixels - large["side"] ** 2)


def _against(needed: float, limit: float, measured: str, change: str) -> Finding:
    if needed > limit:
        return Finding(State.FAIL, measured, change)
    return Finding(State.WARN, measured, change) if needed > NEAR * limit else Finding(State.OK, measured)
