"""Pictures made before: the same photo with the same wishes again costs a hash instead of a conversion.

In memory, one per process, bounded in bytes; what was not asked for the longest goes first. With one slot, who
asks for a picture while it is being made waits for a turn and then finds it here; with more, both make it.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Literal

from handler.convert import Conversion, ConversionRequest

MIB = 1024 * 1024
USUAL = 64 * MIB  # some 200 JPEGs of 1024×1024, or 40 PNGs
# A conversion at 1024×1024 peaks at 1.2 GB (docs/deployment.md). Below this, the rest is for larger photos.
LEAST_MB = 3008
LARGEST_PART = 4  # a picture over a quarter of the bound would drive out many for one
OVERHEAD = 2048  # of an entry: key, description, warnings, its place; tests measure that it is no more


def bound(setting: Literal["auto"] | int) -> int:
    """CACHE_BYTES in bytes; `auto` is off in a Lambda function with little memory."""
    if setting != "auto":
        return setting
    memory_mb = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
    return 0 if memory_mb and int(memory_mb) < LEAST_MB else USUAL


def key(request: ConversionRequest, *made_by: str | int) -> Hashable:
    """The photo's content and all that is wanted of it, with what else decides how the picture looks."""
    return request.digest, replace(request, data=b""), made_by


class Cache:
    """Least recently used, thread-safe."""

    def __init__(self, most_bytes: int) -> None:
        """With 0 it keeps nothing and says that it is off."""
        self.most_bytes = most_bytes
        self.bytes = 0
        self._kept: OrderedDict[Hashable, Conversion] = OrderedDict()
        self._hits = self._lookups = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Conversion | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, picture: Conversion) -> None:
        """Keep a picture, unless it is too large; how long it took is not kept."""
        if (size := _size(picture)) > self.most_bytes // LARGEST_PART:
            return
        with self._lock:
            if earlier := self._kept.pop(key, None):
                self.bytes -= _size(earlier)
            self._kept[key] = replace(picture, timings={})
            self.bytes += size
            while self.bytes > self.most_bytes:
                self.bytes -= _size(self._kept.popitem(last=False)[1])

    def counted(self, hit: bool) -> dict[str, Any]:
        """Count a request that was looked up; for its log line, with the share of hits since the process began."""
        if not self.most_bytes:
            return {"cache": "off"}
        with self._lock:
            self._hits, self._lookups = self._hits + hit, self._lookups + 1
            rate = round(self._hits / self._lookups, 3)
            return {"cache": "hit" if hit else "miss", "cache_hit_rate": rate, "cache_bytes": self.bytes}


def _size(picture: Conversion) -> int:
    return len(picture.data) + OVERHEAD
