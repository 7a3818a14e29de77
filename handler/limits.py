"""How much fits into a request and its answer, by what carries them: Lambda's own limits, and load balancers'."""

from __future__ import annotations

from typing import Any

from handler.settings import RESPONSE_IMAGE_BYTES, Settings

# As RESPONSE_IMAGE_BYTES, of the 1 MB that a load balancer takes and gives for a Lambda target (Elastic Load
# Balancing's documentation, "Lambda functions as targets: Limits").
ALB_IMAGE_BYTES = (1024 * 1024 - 64 * 1024) * 3 // 4

# Photos as base64 in JSON. A REST API with binary types */* encodes that body once more.
PHOTO_BYTES = {
    "http-api": RESPONSE_IMAGE_BYTES,
    "function-url": RESPONSE_IMAGE_BYTES,
    "rest-api": RESPONSE_IMAGE_BYTES * 3 // 4,
    "alb": ALB_IMAGE_BYTES,
}


def limits(source: str, settings: Settings) -> dict[str, Any]:
    """What a client has to know before it sends a photo. `source` is as events.source has it."""
    most = settings.max_input_bytes
    return {
        "max_side": settings.max_side,
        "max_input_bytes": most,
        "max_input_pixels": settings.max_input_pixels,
        "max_payload_bytes": min(most, PHOTO_BYTES.get(source, most)),
        "uploads": bool(settings.upload_bucket),
    }


def largest_picture(source: str, settings: Settings) -> int | None:
    """Bytes of a picture in an answer; None from a plain server, which bounds none."""
    if source == "server":
        return None
    return min(settings.max_output_bytes, ALB_IMAGE_BYTES if source == "alb" else settings.max_output_bytes)
