"""What the extra `report` brings."""

from __future__ import annotations

import os

from infra.bench.installed import require as installed


def require(*others: str) -> None:
    """Raises NotInstalled, naming what is missing of the reader's packages and `others`."""
    installed("polars", "msgspec", "ijson", *others, extra="report")
    # Polars' allocator, which reads this when it is loaded, keeps freed memory for half a second. The table is put
    # into order column by column in less, and would need its memory twice.
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
