"""What was asked of a measurement, and whether it holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

from infra.bench.table import markdown


@dataclass(frozen=True, slots=True)
class Verdict:
    """`figures` are what it was judged by."""

    criterion: str
    holds: bool
    figures: str


class Judged(Protocol):
    """A dataclass: what was measured."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def as_text(self) -> str: ...

    def verdicts(self) -> list[Verdict]: ...


def tell(report: Judged, as_json: bool) -> int:
    """Print it; the exit code is 1 if a verdict fails."""
    judged = report.verdicts()
    whole = {**asdict(report), "verdicts": [asdict(one) for one in judged]}
    print(json.dumps(whole) if as_json else f"{report.as_text()}\n\n{as_text(judged)}")
    return 0 if all(one.holds for one in judged) else 1


def as_text(verdicts: Sequence[Verdict]) -> str:
    rows = [[one.criterion, "holds" if one.holds else "FAILS", one.figures] for one in verdicts]
    return markdown(["criterion", "", "figures"], rows)
