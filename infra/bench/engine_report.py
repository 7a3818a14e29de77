"""What the comparison of engines found, as text, Markdown and a plot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from infra.bench.engine import LIMITS, Measured
from infra.bench.engines import REFERENCE
from infra.bench.outside import Outside
from infra.bench.outside_report import as_text
from infra.bench.table import markdown, pairs, spread
from infra.errors import NotInstalled


@dataclass(frozen=True, slots=True)
class Engines:
    """Of one interleaved run."""

    machine: dict[str, str]
    size: int
    threads: int
    measured: dict[str, Measured]
    outside: list[Outside]

    def as_text(self) -> str:
        around = as_text(self.outside, self.size)
        return "\n\n".join([pairs(self._facts()), self._table(), self._targets(), around])

    def times(self, fast: str, slow: str) -> float:
        """How many times faster the one is than the other, by their medians."""
        return median(self.measured[slow].latency) / median(self.measured[fast].latency)

    def _facts(self) -> dict[str, str]:
        return {**self.machine, "threads": str(self.threads), "picture": f"{self.size}×{self.size}"}

    def _table(self) -> str:
        columns = [
            "engine",
            "ms",
            "× eager",
            "CPU ms",
            "page faults",
            "peak MiB",
            "max error",
            "mean error",
            "SSIM",
        ]
        return markdown(columns, [self._row(name, one) for name, one in self.measured.items()])

    def _row(self, name: str, one: Measured) -> list[str]:
        row = [name, spread([1000 * second for second in one.latency]), f"{self.times(name, REFERENCE):.2f}"]
        if name in LIMITS:
            return [*row, "", "", "", "", "", ""]
        row += [f"{1000 * median(one.cpu):,.0f}", f"{median(one.faults):,.0f}", f"{median(one.peak_mib):,.0f}"]
        alike = one.likeness
        return (
            [*row, f"{alike.worst:.1g}", f"{alike.mean:.1g}", f"{alike.ssim:.4f}"] if alike else [*row, "", "", ""]
        )

    def _targets(self) -> str:
        """What issue 5 asks for, beside what is."""
        wanted = [
            ("animegan float32", REFERENCE, 2.2),
            ("animegan float32", "ONNX Runtime", 1.5),
            ("animegan float32", "OpenVINO float32", 1.5),
            ("animegan bfloat16", REFERENCE, 7.0),
            ("animegan bfloat16", "OpenVINO bfloat16", 2.0),
        ]
        lines = [
            f"{fast}: {self.times(fast, slow):.2f} times faster than {slow} (wanted {least:g})"
            for fast, slow, least in wanted
            if {fast, slow} <= self.measured.keys()
        ]
        limits = [("animegan float32", "limit float32", 1.35), ("animegan bfloat16", "limit bfloat16", 2.0)]
        lines += [
            f"{name}: {self.times(limit, name):.2f} times its limit (wanted at most {most:g})"
            for name, limit, most in limits
            if name in self.measured
        ]
        return "\n".join(lines)

    def plot(self, path: Path) -> None:
        """Bars of the medians. Raises NotInstalled, OSError."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise NotInstalled("--plot needs matplotlib: pip install matplotlib") from None
        names = list(self.measured)[::-1]
        figure = Figure(figsize=(8, 0.4 * len(names) + 1), layout="constrained")
        axes = figure.add_subplot()
        colours = [
            "#c0392b" if "animegan" in name else "#999999" if name in LIMITS else "#5b7fa6" for name in names
        ]
        bars = axes.barh(names, [1000 * median(self.measured[name].latency) for name in names], color=colours)
        axes.bar_label(bars, fmt="%.0f", padding=3)
        axes.set_xlabel(f"milliseconds for {self.size}×{self.size}, {self.threads} thread(s); less is better")
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=110)
