"""Pictures made before: the same photo with the same wishes again costs a hash instead of a conversion.

In memory, one per process, bounded in bytes; what was not asked for the longest goes first. With one slot, who
asks for a picture while it is being made waits for a turn and then finds it here; with more, both make it.
The faces of photos, found and painted, are kept within the same bound (faces.py).
"""

from __future__ import annotations

import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Literal, Protocol

from handler.convert import ConversionRequest

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


Lookup = Literal["hit", "partial", "miss"]


class Kept(Protocol):
    """What can be kept: it says its bytes, without what surrounds them."""

    @property
    def nbytes(self) -> int: ...


class Cache:
    """Least recently used, thread-safe."""

    def __init__(self, most_bytes: int) -> None:
        """With 0 it keeps nothing and says that it is off."""
        self.most_bytes = most_bytes
        self.bytes = 0
        self._kept: OrderedDict[Hashable, Kept] = OrderedDict()
        self._hits: Counter[str] = Counter()
        self._lookups: Counter[str] = Counter()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Any:
        """What was put there, or None."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Hashable, kept: Kept) -> None:
        """Keep it, unless it is too large."""
        if (size := _size(kept)) > self.most_bytes // LARGEST_PART:
            return
        with self._lock:
            if earlier := self._kept.pop(key, None):
                self.bytes -= _size(earlier)
            self._kept[key] = kept
            self.bytes += size
            while self.bytes > self.most_bytes:
                self.bytes -= _size(self._kept.popitem(last=False)[1])

    def counted(self, found: Lookup, of: str = "cache") -> dict[str, Any]:
        """Count a look-up of pictures, or of others, for its log line; with the share of hits in this process."""
        if not self.most_bytes:
            return {of: "off"}
        with self._lock:
            self._lookups[of] += 1
            self._hits[of] += found == "hit"
            rate = round(self._hits[of] / self._lookups[of], 3)
            return {of: found, f"{of}_hit_rate": rate, "cache_bytes": self.bytes}


def _size(kept: Kept) -> int:
    return kept.nbytes + OVERHEAD
