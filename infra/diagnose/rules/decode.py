"""Photos that take longer to decode."""

from __future__ import annotations

import polars as pl

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import SEPARATE_ASKED
from infra.diagnose.evidence import EXPLAINED, figure, finding
from infra.diagnose.log import Log
from infra.diagnose.rows import Rows, Split

MIX = 0.3  # the share of photos that must have come from other formats to say that formats changed
HUGE = 1.5  # photos have grown so many times more than their pictures
COSTLIER = 1.5  # CPU time of a photo's pixel, where neither format nor size explains it
OWN_CPU = 1.2  # decoding's own CPU time must have grown: where it only waits, something else is wrong

KIND = pl.concat_str(
    pl.when(pl.col("progressive").fill_null(False)).then(pl.lit("progressive ")).otherwise(pl.lit("")),
    pl.col("input_format").fill_null("unknown"),
)
CURES = {
    "format": "Have clients send baseline JPEG: it is decoded at a reduced scale where the picture is smaller, "
    "and progressive JPEG, PNG, WebP and TIFF cannot be, or cost several times as much per pixel.",
    "size": "Have clients scale photos down before they send them, or lower MAX_INPUT_PIXELS: the pictures are "
    "no larger for it.",
    "content": "Look at what the photos have in common (`input_bytes`, `input_format` in the log): "
    "high quality and noise cost decoding time; re-save one as JPEG at quality 90 and compare.",
}
WHATS = {
    "format": "photos come in a format that is slower to decode",
    "size": "photos are far larger than their pictures",
    "content": "photos of the same size and format take longer to decode",
}


def slow_decode(log: Log) -> Finding | None:
    """Decoding got slower by itself: another format, progressive scans, or photos far larger than their pictures.

    Photos that grow together with their pictures are no cause here: then inference grows far more, and larger
    inputs are to blame. Nor is decoding that takes longer in the same CPU time: then CPUs are what is missing.
    """
    rows = log.warm.known("decode").with_column("kind", KIND)
    rows = rows.with_column("each", pl.col("decode") / pl.col("megapixels"))
    # Each kind of photos has one cost, so that some of a dearer one stand out; for the picture, as pictures of all
    # sizes come by turns; and as it is.
    rows = rows.with_column("cost", pl.col("decode").median().over("kind"))
    split = rows.split("cost") or rows.split("each", SEPARATE_ASKED) or rows.split("decode", SEPARATE_ASKED)
    if not split or split.ratio("decode_cpu") < OWN_CPU:
        return None
    reason = _reason(split)
    if not reason:
        return None
    grown = max(1.0, min(split.ratio("photo"), split.ratio("megapixels")))
    return finding(
        log,
        split,
        Cause.SLOW_DECODE,
        split.during.mean("decode") - split.before.mean("decode") * grown,
        EXPLAINED,
        shows="decode",
        what=WHATS[reason],
        stage="decode",
        evidence=(
            figure(split, "decode", "decode", "ms"),
            Figure("format of photos", split.during.usual("kind"), split.before.usual("kind")),
            figure(split, "photo size", "photo", "megapixels"),
            figure(split, "picture size", "megapixels", "megapixels"),
        ),
        cure=CURES[reason],
    )


def _reason(split: Split) -> str | None:
    if moved(split, "kind") >= MIX:
        return "format"
    if split.ratio("photo") >= HUGE * max(1.0, split.ratio("megapixels")):
        return "size"
    # The same machine, at other work, tells how much of it is the machine.
    costlier = split.ratio("decode_cpu") / max(1.0, split.ratio("photo"))
    return "content" if costlier >= COSTLIER * max(1.0, split.ratio("work")) else None


def moved(split: Split, column: str) -> float:
    """The share of conversions that have another value of a text column than they would have had before."""
    before, during = (_shares(part, column) for part in (split.before, split.during))
    return sum(max(0.0, share - before.get(value, 0.0)) for value, share in during.items())


def _shares(rows: Rows, column: str) -> dict[str | None, float]:
    counts = rows.frame[column].value_counts()
    return {value: count / len(rows) for value, count in counts.iter_rows()}
