"""The allocator that the image preloads, where this machine has it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
TCMALLOC = ("build/image/lib/libtcmalloc_minimal.so.4", "/usr/lib/*-linux-gnu/libtcmalloc_minimal.so.4")


def tcmalloc() -> str:
    """Its path, for LD_PRELOAD; or nothing."""
    found = [
        path for pattern in TCMALLOC for path in Path("/" if pattern[0] == "/" else ROOT).glob(pattern.strip("/"))
    ]
    return str(found[0]) if found else ""
