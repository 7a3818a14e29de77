"""Where a picture goes: keys that follow from the source's key, the style and the format alone.

So a retry finds what an earlier attempt has left, and two photos never share a picture: the photo's whole key is
in the picture's. What S3 or a file system could stumble over (`..`, empty parts, over 1,024 bytes) is replaced,
and a digest keeps the names apart.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePosixPath

from handler.image import OutputFormat

KEY_BYTES = 1024  # S3's limit, of UTF-8
BY_EXTENSION: dict[str, OutputFormat] = {".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp", ".png": "png"}
EXTENSIONS: dict[OutputFormat, str] = {"jpeg": "jpg", "png": "png", "webp": "webp"}
MARKED = re.compile(
    r"~[0-9a-f]{16}\Z"
)  # a key that ends like a name of ours is marked too, or could be made to be one


def format_of(key: str) -> OutputFormat:
    """The format that a key's extension promises, else PNG: known before the object is read."""
    return BY_EXTENSION.get(PurePosixPath(key).suffix.lower(), "png")


def output_key(prefix: str, key: str, style: str, format: OutputFormat) -> str:
    """photos/cat.heic -> anime/photos/cat.heic.cel.png."""
    return _under(prefix, key, f".{style}.{EXTENSIONS[format]}")


def report_key(prefix: str, key: str) -> str:
    """photos/cat.heic -> anime/photos/cat.heic.error.json: beside where the pictures of any style are."""
    return _under(prefix, key, ".error.json")


def _under(prefix: str, key: str, ending: str) -> str:
    room = KEY_BYTES - len(f"{prefix}{ending}".encode())
    parts = key.split("/")
    harmless = "/".join("_" if part in ("", ".", "..") else part for part in parts)
    if harmless == key and len(key.encode()) <= room and not MARKED.search(key):
        return prefix + key + ending
    mark = "~" + hashlib.sha256(key.encode()).hexdigest()[:16]
    return prefix + harmless.encode()[: room - len(mark)].decode(errors="ignore") + mark + ending
