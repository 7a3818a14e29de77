"""Many photos of random sizes through the real function in this process: what each conversion took and left."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from infra.bench.made_up import jpegs
from infra.emulator import Emulator
from infra.errors import BadRequest
from infra.http_event import post

MIB = 1024 * 1024
MULTIPLE = 32  # the network's sides are multiples of it


@dataclass
class Soak:
    """One entry per conversion; memory, threads and files are those of the process after it."""

    least: int
    most: int
    pixels: list[int] = field(default_factory=list)  # as the network has them
    seconds: list[float] = field(default_factory=list)  # of the whole invocation
    cpu: list[float] = field(default_factory=list)
    rss_mib: list[float] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    def per_megapixel(self) -> list[float]:
        """Milliseconds."""
        return [1e9 * seconds / pixels for seconds, pixels in zip(self.seconds, self.pixels, strict=True)]

    def run(self, photos: Iterable[bytes], advance: Callable[[int], None]) -> None:
        """Convert, one after the other. Raises BadRequest where one fails, and what init raises."""
        import psutil

        process, log = psutil.Process(), io.StringIO()
        os.environ["CACHE_BYTES"] = "0"  # what is kept would grow up to its bound, by design
        function = Emulator(limits=False, log=log)
        for number, photo in enumerate(photos, 1):
            done = function.invoke(post("/convert", photo, "image/jpeg", {"format": "jpeg"}))
            self.pixels.append(_pixels(done.payload))
            self.seconds.append(done.duration_ms / 1000)
            self.cpu.append(_cpu(log))
            self.rss_mib.append(process.memory_info().rss / MIB)
            self.threads.append(process.num_threads())
            self.files.append(process.num_fds())
            advance(number)


def soak(conversions: int, sides: tuple[int, int], seed: int, advance: Callable[[int], None]) -> Soak:
    """`sides` are the least and the most pixels. Raises what `Soak.run` raises."""
    found = Soak(*sides)
    found.run(jpegs(conversions, *sides, seed), advance)
    return found


def _pixels(answer: Any) -> int:
    if answer.get("statusCode") != 200:
        raise BadRequest(f"a conversion failed: {str(answer.get('body') or answer)[:300]}")
    said: dict[str, int] = json.loads(answer["body"])
    return math.prod(-(-said[side] // MULTIPLE) * MULTIPLE for side in ("width", "height"))


def _cpu(log: io.StringIO) -> float:
    """CPU seconds, by the line of the conversion that ended just now; the log is emptied."""
    lines = [json.loads(line) for line in log.getvalue().splitlines() if line.startswith("{")]
    log.seek(0)
    log.truncate()
    (spent,) = (line["CpuTime"][0] for line in lines if line["event"] == "conversion")
    return float(spent) / 1000
