"""Pictures that take longer to encode."""

from __future__ import annotations

from infra.diagnose.causes import Cause, Figure, Finding
from infra.diagnose.changes import SEPARATE_ASKED
from infra.diagnose.evidence import EXPLAINED, figure, finding
from infra.diagnose.log import Log
from infra.diagnose.rows import Split
from infra.diagnose.rules.decode import MIX, moved

HEAVIER = 1.5  # times as many bytes per pixel in the same format: a higher quality, or more detail
COSTLIER = 2.0  # times as long per pixel as before, and as inference has become, where nothing else explains it

CURES = {
    "format": "Ask for JPEG (`format=jpeg`; for S3 OUTPUT_FORMAT=jpeg): PNG takes about ten times, WebP thirty "
    "times as long. Without `format` a picture has its photo's.",
    "quality": "Lower `quality` (92 where none is asked for): time and bytes rise steeply above 95.",
    "content": "Compare one picture in each format with `animegan convert --format … --log`; JPEG is the "
    "quickest.",
}
WHATS = {
    "format": "pictures are asked for in a format that is slower to encode",
    "quality": "pictures have more bytes per pixel",
    "content": "pictures take longer to encode in the same format",
}


def slow_encode(log: Log) -> Finding | None:
    """Encoding got slower by itself: another output format, or a higher quality.

    Larger pictures take longer in proportion, which is taken off; what is left has to have a reason in the log,
    or be far more than what has befallen inference on the same machine.
    """
    rows = log.warm.known("encode", "megapixels")
    rows = rows.with_column("weight", rows["output_bytes"] / rows["megapixels"])
    split = rows.split("encode", SEPARATE_ASKED)
    reason = _reason(split) if split else None
    if not split or not reason:
        return None
    grown = max(1.0, split.ratio("megapixels"))
    return finding(
        log,
        split,
        Cause.SLOW_ENCODE,
        split.during.mean("encode") - split.before.mean("encode") * grown,
        EXPLAINED,
        shows="encode",
        what=WHATS[reason],
        stage="encode",
        evidence=(
            figure(split, "encode", "encode", "ms"),
            Figure("format of pictures", split.during.usual("output_format"), split.before.usual("output_format")),
            figure(split, "bytes of a picture", "output_bytes", "bytes"),
            figure(split, "picture size", "megapixels", "megapixels"),
        ),
        cure=CURES[reason],
    )


def _reason(split: Split) -> str | None:
    if moved(split, "output_format") >= MIX:
        return "format"
    if split.ratio("weight") >= HEAVIER:
        return "quality"
    costlier = split.ratio("encode") / max(1.0, split.ratio("megapixels"))
    return "content" if costlier >= COSTLIER * max(1.0, split.ratio("pace")) else None
