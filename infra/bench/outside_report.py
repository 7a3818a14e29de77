"""What surrounds inference, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from infra.bench.outside import Outside, Steps
from infra.bench.table import markdown, spread
from infra.bench.ways import STEPS

LEAST_TIMES, MOST_SHARE = 3, 5  # what issue 5 asks for: times less than through PIL, % of a conversion
COLUMNS = (
    *("photo", "kB", *STEPS, "together", "through PIL", "times less", "decoding", "the rest"),
    *("conversion", "outside inference", "%"),
)


def as_text(found: Sequence[Outside], size: int) -> str:
    times, shares = [ratio(one, STEPS) for one in found], [share(one) for one in found]
    return "\n\n".join(
        [
            f"Around inference, to {size} pixels: ms of ours / through PIL, median (minimum); whole conversions",
            markdown(COLUMNS, map(_row, found)),
            f"around inference: {min(times):.1f} to {max(times):.1f} times less than through PIL (wanted "
            f"{LEAST_TIMES}), {min(shares):.1f} to {max(shares):.1f} % of a conversion "
            f"(wanted at most {MOST_SHARE})",
        ]
    )


def ratio(one: Outside, steps: Sequence[str]) -> float:
    """How many times longer these steps take through PIL, by the medians of their sums."""
    return median(_sums(one.pil, steps)) / median(_sums(one.ours, steps))


def share(one: Outside) -> float:
    """Percent of a conversion that is not inference."""
    return 100 * median(one.outside) / median(one.conversions)


def _row(one: Outside) -> list[str]:
    each = [f"{median(one.ours[step]):.1f} / {median(one.pil[step]):.1f}" for step in STEPS]
    both = [spread(_sums(steps, STEPS), 1) for steps in (one.ours, one.pil)]
    ratios = [f"{ratio(one, steps):.1f}" for steps in (STEPS, STEPS[:1], STEPS[1:])]
    whole = [spread(one.conversions), spread(one.outside, 1), f"{share(one):.1f}"]
    return [one.photo, f"{one.photo_bytes / 1000:,.0f}", *each, *both, *ratios, *whole]


def _sums(steps: Steps, which: Sequence[str]) -> list[float]:
    return [sum(turn) for turn in zip(*(steps[step] for step in which), strict=True)]
