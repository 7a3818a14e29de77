"""What a soak found: four verdicts, and a plot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import median

from infra.bench.soak import Soak
from infra.bench.table import pairs
from infra.bench.trend import Trend, trend
from infra.bench.verdicts import Verdict

SETTLED = 100  # conversions are for caches and pools to fill: oneDNN's is full after some 50 shapes;
STEADY = 200  # after these, latency is looked at. Shorter runs are halved.
PLATEAU = 0.02  # that memory may rise above what it had been before it settled


@dataclass(frozen=True, slots=True)
class Report:
    """Of one soak, on one machine."""

    machine: dict[str, str]
    soak: Soak

    def as_text(self) -> str:
        return pairs(self._facts())

    def verdicts(self) -> list[Verdict]:
        """SciPy has to be there."""
        per_pixel = self._trend(self.soak.per_megapixel())
        cpu = self._trend([spent / pixels for spent, pixels in zip(self.soak.cpu, self.soak.pixels, strict=True)])
        before, after = _around(self.soak.rss_mib)
        return [
            Verdict(
                f"latency per pixel does not rise over the last {self.steady}",
                not per_pixel.rises,
                f"{per_pixel}; CPU time {cpu}",
            ),
            Verdict(
                f"memory is within {PLATEAU:.0%} of its most in the first {self.settled}",
                after <= before * (1 + PLATEAU),
                f"{before:,.0f} MiB, then at most {after:,.0f} ({after / before - 1:+.1%})",
            ),
            _no_more("threads", self.soak.threads),
            _no_more("file descriptors", self.soak.files),
        ]

    @property
    def settled(self) -> int:
        return _settled(len(self.soak.seconds))

    @property
    def steady(self) -> int:
        count = len(self.soak.seconds)
        return count - min(STEADY, count // 2)

    def plot(self, path: Path) -> None:
        """Latency per pixel and memory by the conversion's number. Raises OSError; matplotlib has to be there."""
        from matplotlib.figure import Figure

        latency, (before, _) = self.soak.per_megapixel(), _around(self.soak.rss_mib)
        numbers = range(1, len(latency) + 1)
        figure = Figure(figsize=(8, 5), layout="constrained")
        upper, lower = figure.subplots(2, sharex=True)
        upper.plot(numbers, latency, ".", markersize=3, color="#5b7fa6")
        upper.axhline(median(latency), color="#c0392b", linewidth=1)
        upper.set(ylabel="ms per megapixel", ylim=(0, 2 * median(latency)))
        lower.plot(numbers, self.soak.rss_mib, color="#5b7fa6", linewidth=1)
        lower.axhline(before * (1 + PLATEAU), color="#c0392b", linewidth=1)
        lower.set(ylabel="RSS after it, MiB", xlabel="conversion", ylim=(0, None))
        for axes in (upper, lower):
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=110)

    def _facts(self) -> dict[str, str]:
        least, most = self.soak.least, self.soak.most
        return {
            **self.machine,
            "conversions": f"{len(self.soak.seconds):,} of {least} to {most} pixels a side",
            "median": f"{median(self.soak.per_megapixel()):,.0f} ms per megapixel",
        }

    def _trend(self, values: list[float]) -> Trend:
        return trend(values[-self.steady :])


def _no_more(what: str, counts: list[int]) -> Verdict:
    before, after = _around(counts)
    criterion = f"no more {what} than in the first {_settled(len(counts))}"
    return Verdict(criterion, after <= before, f"{before}, then at most {after}")


def _around(values: list[int] | list[float]) -> tuple[float, float]:
    """The most until it settled, and the most since."""
    settled = _settled(len(values))
    return max(values[:settled]), max(values[settled:])


def _settled(count: int) -> int:
    return min(SETTLED, count // 2)
