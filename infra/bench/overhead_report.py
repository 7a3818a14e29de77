"""What the recorder and the log line were found to cost, and whether that is little enough."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from infra.bench.overhead import Overhead
from infra.bench.table import pairs
from infra.bench.verdicts import Verdict

MOST_MS = 1.0
MOST_SHARE = 0.002


@dataclass(frozen=True, slots=True)
class Report:
    """Of one measurement, on one machine."""

    machine: dict[str, str]
    overhead: Overhead

    def as_text(self) -> str:
        return pairs({**self.machine, **self._facts()})

    def verdicts(self) -> list[Verdict]:
        worst = max(median(self.overhead.in_place), self.overhead.alone) * 1000
        share = self.overhead.share()
        return [
            Verdict(f"at most {MOST_MS:g} ms of a conversion", worst <= MOST_MS, f"{worst:.2f} ms"),
            Verdict(f"at most {MOST_SHARE:.1%} of a conversion", share <= MOST_SHARE, f"{share:.3%}"),
        ]

    def _facts(self) -> dict[str, str]:
        found = self.overhead
        slower, low, high = (1000 * value for value in found.difference())
        return {
            "photo": f"JPEG of {found.side}×{found.side}, {found.precision}, {len(found.bare)} pairs",
            "without": f"{1000 * median(found.bare):,.1f} ms (median)",
            "with recorder and line": f"{1000 * median(found.recorded):,.1f} ms",
            "difference of pairs": f"{slower:+.2f} ms (95 %: {low:+.2f} to {high:+.2f})",
            "in place": f"{1000 * median(found.in_place):.3f} ms, {found.share():.3%}",
            "alone, in a loop": f"{1000 * found.alone:.3f} ms",
            "line": f"{found.line_bytes:,} bytes",
        }
