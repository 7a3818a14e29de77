"""Larger photos, or larger pictures asked for."""

from __future__ import annotations

from infra.diagnose.causes import Cause, Finding
from infra.diagnose.changes import SEPARATE_ASKED
from infra.diagnose.evidence import EXPLAINED, MEASURED, figure, finding
from infra.diagnose.log import Log

CURE = (
    "Ask for a smaller `size`, or lower MAX_SIDE: the time is in proportion to the picture's pixels. "
    "If they have to be this large, give the function more vCPUs (MemorySize; 1,769 MB are one)."
)


def larger_inputs(log: Log) -> Finding | None:
    """Pictures have more pixels, and took longer in proportion.

    The network's work is linear in pixels, and so are the other stages' nearly, so what more pixels add is their
    number times what a pixel took before. No more than what conversions really got slower: a picture beside its
    photo (`side_by_side`) has twice the pixels for the same work.
    """
    split = log.warm.split("megapixels", SEPARATE_ASKED)
    if not split:
        return None
    before = split.before.mean("service")
    expected = before * (split.ratio("megapixels") - 1)
    added = min(expected, split.during.mean("service") - before)
    return finding(
        log,
        split,
        Cause.LARGER_INPUTS,
        added,
        MEASURED if split.until else EXPLAINED,  # sizes of a while differ by chance
        shows="megapixels",
        what="pictures have more pixels",
        stage="inference",
        evidence=(
            figure(split, "picture size", "megapixels", "megapixels"),
            figure(split, "photo size", "photo", "megapixels"),
            figure(split, "conversion", "service", "ms"),
            figure(split, "inference per megapixel", "pace", "ms"),
        ),
        cure=CURE,
    )
