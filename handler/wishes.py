"""What a photo is to become: its style, its format and the other parameters, from whoever has a say in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from handler.bodies import Parameters, validated
from handler.errors import InvalidParameter
from handler.image import OutputFormat
from handler.naming import format_of
from handler.objects import Head, S3Object
from handler.settings import Settings

OPTIONS = "animegan-options"  # metadata of a photo: parameters of POST /convert as JSON


@dataclass(frozen=True, slots=True)
class Wish:
    """`parameters` as they were given; `style` and `format` as they follow from them."""

    parameters: Parameters
    style: str
    format: OutputFormat


def wish(source: S3Object, head: Head, settings: Settings) -> Wish:
    """Raises InvalidParameter; whether there is such a style is not looked at."""
    wanted = _wanted(source, head, settings)
    return Wish(wanted, wanted.style or settings.style, wanted.format or format_of(source.key))


def _wanted(source: S3Object, head: Head, settings: Settings) -> Parameters:
    """Whoever planned the job has the last word, then the object's own metadata, then the settings."""
    try:
        own: Any = json.loads(head.metadata.get(OPTIONS) or "{}")
    except (ValueError, RecursionError):
        own = None
    if not isinstance(own, dict):
        raise InvalidParameter(f"The object's metadata {OPTIONS} is no JSON object.")
    fixed = {} if settings.output_format == "auto" else {"format": settings.output_format}
    asked = {} if source.style in (None, "") else {"style": source.style}
    return validated({**fixed, **own, **asked})
