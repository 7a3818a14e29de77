"""`animegan bench image`: size, cold start, conversions and memory of the image, within Lambda's limits."""

from __future__ import annotations

import base64
import subprocess
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from infra.bench.coldstart import ColdStart
from infra.bench.container import Running, Sandbox, Size, docker
from infra.bench.made_up import jpeg
from infra.errors import BadRequest
from infra.estimate import GB_SECOND, INVOCATION
from infra.http_event import post

MIB = 1024 * 1024
CONVERT_AGAIN = {"CACHE_BYTES": "0"}  # the same photo each time


@dataclass
class Conversions:
    """Of one photo, warm: one entry per conversion. Milliseconds, MiB, counts."""

    size: Size
    cold_ms: list[float] = field(default_factory=list)  # first invocation, init included, as the caller sees it
    duration: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    minor_faults: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)

    def gb_seconds(self) -> float:
        """Of one conversion, as Lambda bills it: by the millisecond."""
        return self.size.memory_mb / 1024 * median(self.duration) / 1000

    def usd_per_1000(self) -> float:
        return 1000 * (self.gb_seconds() * GB_SECOND + INVOCATION)

    def measure(self, sandbox: Sandbox, event: Mapping[str, Any], times: int) -> None:
        """One fresh container, one cold and `times` warm conversions in it. Raises BadRequest."""
        with sandbox.running() as function:
            begun = time.perf_counter()
            _converted(function, event)
            self.cold_ms.append((time.perf_counter() - begun) * 1000)
            for _ in range(times):
                _converted(function, event)
            lines = function.log_lines("conversion")[-times:]
        self.duration += [line["Duration"][0] for line in lines]
        self.cpu += [line["CpuTime"][0] for line in lines]
        self.minor_faults += [line["minor_faults"] for line in lines]
        self.peak.append(max(line["MaxMemoryUsed"][0] for line in lines))


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of the image in bytes: unpacked, and as layers compressed by gzip."""

    unpacked: int
    compressed: int

    @classmethod
    def of(cls, image: str) -> Sizes:
        """Raises BadRequest."""
        unpacked = int(docker("image", "inspect", "--format", "{{.Size}}", image))
        return cls(unpacked, _compressed(image))


def conversion_event(side: int) -> dict[str, Any]:
    return post("/convert", jpeg(side, side), "image/jpeg", {"format": "jpeg"})


def variants(image: str, sizes: Sequence[Size], extra: Sequence[str]) -> dict[str, Sandbox]:
    """The image in each size, as it is and once for each of `extra`: NAME=VALUE pairs, joined by commas."""
    environments: dict[str, dict[str, str]] = {"": {}}
    environments |= {text: dict(pair.partition("=")[::2] for pair in text.split(",")) for text in extra}
    return {
        " ".join(filter(None, (str(size), text))): Sandbox(image, size, environment={**CONVERT_AGAIN, **variables})
        for text, variables in environments.items()
        for size in sizes
    }


def cold_starts(named: Mapping[str, Sandbox], rounds: int) -> dict[str, ColdStart]:
    """Interleaved, so that what else the machine does meets all alike. Raises BadRequest."""
    found = {name: ColdStart() for name in named}
    for _ in range(rounds):
        for name, sandbox in named.items():
            found[name].measure(sandbox)
    return found


def conversions(named: Mapping[str, Sandbox], side: int, rounds: int, times: int) -> dict[str, Conversions]:
    """Interleaved by container. Raises BadRequest."""
    found = {name: Conversions(sandbox.size) for name, sandbox in named.items()}
    event = conversion_event(side)
    for _ in range(rounds):
        for name, sandbox in named.items():
            found[name].measure(sandbox, event, times)
    return found


def _converted(function: Running, event: Mapping[str, Any]) -> None:
    answer = function.invoke(event)
    if answer.get("statusCode") != 200:
        said = answer.get("body") or answer
        said = base64.b64decode(said).decode() if answer.get("isBase64Encoded") else said
        raise BadRequest(f"the function in the container does not convert: {str(said)[:300]}")


def _compressed(image: str) -> int:
    """What a registry would store, to a few per cent: the layers' tar files through gzip."""
    packer, total = zlib.compressobj(6), 0
    with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saving:
        assert saving.stdout
        while chunk := saving.stdout.read(MIB):
            total += len(packer.compress(chunk))
    return total + len(packer.flush())
