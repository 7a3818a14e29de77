"""Content negotiation: JSON or the picture itself, by the Accept header (RFC 9110, 12.5.1)."""

from __future__ import annotations

from handler.image import OutputFormat

FORMATS: dict[str, OutputFormat] = {"image/png": "png", "image/jpeg": "jpeg", "image/webp": "webp"}


def wanted_image(accept: str) -> tuple[bool, OutputFormat | None]:
    """(whether Accept asks for a picture rather than JSON, the one format that it insists on or None).

    An image range must have a higher quality than application/json; */* alone means JSON.
    """
    quality = dict(map(_media_range, accept.lower().split(",")))
    images = {name: q for name, q in quality.items() if name.startswith("image/") and q > 0}
    wanted = max(images.values(), default=0.0) > quality.get("application/json", 0.0)
    if not wanted or "image/*" in images or "*/*" in quality:
        return wanted, None
    named = [name for name in sorted(images, key=images.__getitem__, reverse=True) if name in FORMATS]
    return wanted, FORMATS[named[0]] if named else None


def _media_range(text: str) -> tuple[str, float]:
    name, *parameters = (part.strip() for part in text.split(";"))
    try:
        quality = next((float(p[2:]) for p in parameters if p.startswith("q=")), 1.0)
    except ValueError:
        quality = 0.0
    return name, quality
