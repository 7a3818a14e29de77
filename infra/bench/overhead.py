"""`animegan bench overhead`: what the recorder and the log line cost a conversion.

Three ways, as each has its blind spot. In place: the time inside them during real conversions, when the CPU's
caches hold the network. Alone: in a loop, without noise. Taking turns: conversions with them and without, which
would show what else they do to a conversion, if it is more than the machine's noise.
"""

from __future__ import annotations

import io
import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

from handler.convert import ConversionRequest
from handler.converter import Converter
from handler.lines import Caller, Line, logged
from handler.metrics import LogLines
from handler.stages import STAGES, Stage, Stages

ALONE = 500  # times that the loop runs
CALLER = {"request_id": "00000000-0000-4000-8000-000000000000"}


@dataclass
class Overhead:
    """Seconds, one entry per pair of conversions, but `alone`: one of recorder and line together, in a loop."""

    side: int
    precision: str
    recorded: list[float] = field(default_factory=list)  # a whole conversion, with recorder and line
    bare: list[float] = field(default_factory=list)  # without
    in_place: list[float] = field(default_factory=list)  # inside recorder and line, of a conversion
    alone: float = 0.0
    line_bytes: int = 0

    def share(self) -> float:
        """Of a conversion, in place."""
        return median(self.in_place) / median(self.bare)

    def difference(self) -> tuple[float, float, float]:
        """Median of what a conversion took longer with them than the one beside it, and a 95 % interval.

        The interval is of order statistics (Conover, Practical Nonparametric Statistics, 3rd ed., 3.2), so it
        needs no distribution. With fewer than six pairs it is all of them.
        """
        found = sorted(one - other for one, other in zip(self.recorded, self.bare, strict=True))
        first = max(0, math.floor((len(found) - 1.96 * math.sqrt(len(found))) / 2))
        return median(found), found[first], found[-1 - first]


@dataclass(slots=True)
class Stopwatch:
    """What was timed so far, in seconds."""

    seconds: float = 0.0


class WeighedStage(Stage):
    """A stage whose entering and leaving are timed."""

    __slots__ = ("_watch",)

    def __init__(self, watch: Stopwatch) -> None:
        self._watch = watch
        Stage.__init__(self)

    def __enter__(self) -> None:
        begun = time.perf_counter()
        Stage.__enter__(self)
        self._watch.seconds += time.perf_counter() - begun

    def __exit__(self, *raised: Any) -> None:
        begun = time.perf_counter()
        Stage.__exit__(self, *raised)
        self._watch.seconds += time.perf_counter() - begun


class Weighed(Stages):
    """A recorder that is timed itself."""

    def __init__(self, watch: Stopwatch) -> None:
        begun = time.perf_counter()
        self._watch, self.kind = watch, partial(WeighedStage, watch)
        Stages.__init__(self)
        watch.seconds += time.perf_counter() - begun

    def __call__(self, name: str) -> Stage:
        begun = time.perf_counter()
        stage = Stages.__call__(self, name)
        self._watch.seconds += time.perf_counter() - begun
        return stage

    def timings(self) -> dict[str, float]:
        begun = time.perf_counter()
        found = Stages.timings(self)
        self._watch.seconds += time.perf_counter() - begun
        return found


@dataclass(frozen=True)
class WeighedLines(LogLines):
    """Log lines whose writing is timed."""

    watch: Stopwatch = field(default_factory=Stopwatch)

    def conversion(self, *said: Any) -> None:
        begun = time.perf_counter()
        LogLines.conversion(self, *said)
        self.watch.seconds += time.perf_counter() - begun


class Nothing(Stages):
    """A recorder that records nothing."""

    def __init__(self) -> None:
        self.used = {}

    def __call__(self, name: str) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()

    def timings(self) -> dict[str, float]:
        return {}


class Overheads:
    """Measures with one converter, which is warm."""

    def __init__(self, converter: Converter, request: ConversionRequest) -> None:
        """The request's style must be there."""
        self._converter, self._request = converter, request

    def measure(self, side: int, pairs: int, advance: Callable[[int], None]) -> Overhead:
        """`pairs` of conversions, with recorder and line before without, and the other way round in turns."""
        self._recorded()  # the first prepares what later ones use
        found = Overhead(side, self._converter.styles[self._request.style].precision)
        for number in range(pairs):
            turns = [(self._recorded, found.recorded), (self._bare, found.bare)]
            for work, seconds in turns if number % 2 else reversed(turns):
                begun = time.perf_counter()
                work()
                seconds.append(time.perf_counter() - begun)
            found.in_place.append(self._in_place())
            advance(number + 1)
        found.alone, found.line_bytes = self._alone()
        return found

    def _recorded(self) -> None:
        self._converter(self._request, Caller("bench", dict(CALLER)))

    def _bare(self) -> None:
        line = Line(self._converter.log, "bench", Nothing(), dict(CALLER))
        self._converter.picture(self._request, Caller("bench"), line)

    def _in_place(self) -> float:
        log = self._converter.log
        weighed = WeighedLines(log.vcpus, log.threads)
        caller = Caller("bench", dict(CALLER))
        with logged(weighed, caller, Weighed(weighed.watch)) as line:
            self._converter.picture(self._request, caller, line)
        return weighed.watch.seconds

    def _alone(self) -> tuple[float, int]:
        """Seconds of a recorder with every stage and its line; and the line's bytes."""
        said = self._properties()
        out = io.StringIO()
        begun = time.perf_counter()
        with redirect_stdout(out):
            for _ in range(ALONE):
                _all_stages(self._converter.log, said)
        spent = (time.perf_counter() - begun) / ALONE
        return spent, len(out.getvalue().splitlines()[0].encode())

    def _properties(self) -> Mapping[str, Any]:
        """Those that the line of this conversion has."""
        with redirect_stdout(io.StringIO()), logged(self._converter.log, Caller("bench"), Stages()) as line:
            self._converter.picture(self._request, Caller("bench"), line)
        return line.said


def _all_stages(log: LogLines, said: Mapping[str, Any]) -> None:
    with logged(log, Caller("bench", dict(CALLER)), Stages()) as line:
        for name in STAGES:
            with line.stages(name):
                pass
        line.stages.timings()
        line.said |= said
