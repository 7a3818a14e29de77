"""What the benchmark of the image found, for people."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from infra.bench.coldstart import ColdStart
from infra.bench.container import Sandbox
from infra.bench.image import Conversions, Sizes
from infra.bench.table import markdown, pairs, spread
from infra.estimate import PRICES_OF

MB = 1_000_000
INSIDE = """
import sys; sys.path.insert(0, "/var/task")
import torch, cv2, numpy, platform
from handler import cpu
vcpus = cpu.vcpus()
print(f"Python {platform.python_version()}, torch {torch.__version__}, OpenCV {cv2.__version__}, "
      f"NumPy {numpy.__version__}, {cpu.best_precision('auto')}, {cpu.set_threads('auto', vcpus)} thread(s)")
"""


def inside(sandbox: Sandbox) -> str:
    """Versions, precision and threads as the function has them in the container. Raises BadRequest."""
    return sandbox.python("-c", INSIDE).strip()


@dataclass(frozen=True, slots=True)
class Image:
    """Times in milliseconds: medians, and the least in brackets."""

    machine: dict[str, str]
    inside: str
    side: int
    sizes: Sizes
    cold: dict[str, ColdStart]
    imports: list[tuple[str, float]]
    warm: dict[str, Conversions]

    def as_text(self) -> str:
        parts = [pairs(self._facts()), self._cold(), self._imports(), self._warm()]
        return "\n\n".join(parts)

    def _facts(self) -> dict[str, str]:
        bare = next(iter(self.cold.values()))
        return {
            **self.machine,
            "in the container": self.inside,
            "image": f"{self.sizes.unpacked / MB:,.0f} MB, {self.sizes.compressed / MB:,.0f} MB compressed",
            "init / import torch": f"{bare.ratio():.2f}",
            "prices": f"{PRICES_OF}, x86",
        }

    def _cold(self) -> str:
        columns = [
            "cold start, ms",
            "python",
            "runtime client",
            "import torch",
            "init",
            "imports",
            "load",
            "warm-up",
        ]
        rows = [
            [name, *map(spread, (one.python, one.client, one.torch, one.init, one.imports, one.load, one.warm_up))]
            for name, one in self.cold.items()
        ]
        return markdown(columns, rows)

    def _imports(self) -> str:
        named = ", ".join(f"{name} {spent:.0f}" for name, spent in self.imports)
        return f"imports over 20 ms, traced (slower than they are): {named}"

    def _warm(self) -> str:
        columns = [
            f"{self.side}×{self.side} JPEG",
            "first, with init",
            "warm, ms",
            "CPU ms",
            "page faults",
            "peak MiB",
        ]
        rows = [
            [
                name,
                *map(spread, (one.cold_ms, one.duration, one.cpu, one.minor_faults)),
                f"{median(one.peak):,.0f}",
                f"{one.gb_seconds():.2f}",
                f"{one.usd_per_1000():.3f}",
            ]
            for name, one in self.warm.items()
        ]
        return markdown([*columns, "GB-s", "USD per 1,000"], rows)
