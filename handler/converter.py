"""Around the pipeline: limits before any work, one log line after it, and nothing but ConversionErrors out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from handler import cache, image
from handler.convert import Conversion, ConversionRequest, convert
from handler.errors import ConversionError, InternalError, OutOfTime
from handler.generator import FrozenGenerator, Styles
from handler.metrics import LogLines
from handler.probe import Header
from handler.settings import Settings
from handler.stages import Stages

HEADROOM = 1.2  # the other stages add about a tenth to the inference; time per pixel is the least seen yet


@dataclass(slots=True)
class Caller:
    """Who asks: goes into the log line, and says how many milliseconds are left (None: no limit)."""

    source: str
    properties: dict[str, Any] = field(default_factory=dict)
    remaining_ms: Callable[[], int] | None = None


class Converter:
    """Everything that a conversion needs besides its request; leaves a log line for each, failed or not."""

    def __init__(self, settings: Settings, styles: Styles, log: LogLines) -> None:
        self.settings, self.styles, self.log = settings, styles, log
        self.cache = cache.Cache(cache.bound(settings.cache_bytes))
        self._cold = True

    def __call__(self, request: ConversionRequest, caller: Caller, queued: float = 0.0) -> Conversion:
        """Convert. Raises ConversionError only: a defect of ours becomes InternalError with its cause."""
        return self._answer(request, caller, Stages(queued), None)

    def cached(self, request: ConversionRequest, caller: Caller) -> Conversion | None:
        """What the same request gave before, at once and with its log line; else None, and no line yet."""
        stages = Stages()  # the hash is part of what it takes
        found = self.cache.get(self._key(request))
        return self._answer(request, caller, stages, found) if found else None

    def refuse(self, error: ConversionError, caller: Caller) -> None:
        """Leave the log line of a conversion that never began: its request was wrong, or all slots were taken."""
        details = {**caller.properties, "error_message": str(error)}
        self.log.conversion(Stages(), "unknown", caller.source, 0, error.code, details)

    def _answer(
        self, request: ConversionRequest, caller: Caller, stages: Stages, found: Conversion | None
    ) -> Conversion:
        said: dict[str, Any] = {**caller.properties, "cold_start": self._cold, "input_bytes": len(request.data)}
        self._cold = False
        error: ConversionError | None = None
        try:
            return self._picture(request, caller, stages, said, found)
        except ConversionError as expected:
            error = expected
            raise
        except Exception as defect:
            error = InternalError("The conversion failed by a defect of ours; the log line has the details.")
            said["defect"] = repr(defect)
            raise error from defect
        finally:
            if error:
                error.timings = stages.timings()
            self._log(request, caller, stages, error, said)

    def _picture(
        self,
        request: ConversionRequest,
        caller: Caller,
        stages: Stages,
        said: dict[str, Any],
        found: Conversion | None,
    ) -> Conversion:
        """`said` gets what the log line says of it, also where it fails in the middle."""
        header = image.check(request.data, self.settings.max_input_bytes, self.settings.max_input_pixels)
        said |= {"input_format": header.format, "input_width": header.width, "input_height": header.height}
        key = self._key(request)
        if found := found or self.cache.get(key):
            said |= self.cache.counted(hit=True)
            done = replace(found, timings=stages.timings())
        else:
            done = self._convert(request, header, caller, stages, said)
            self.cache.put(key, done)
        said |= {"output_format": done.format, "output_width": done.width, "output_height": done.height}
        said |= {"output_bytes": len(done.data), "warnings": list(done.warnings)}
        return done

    def _convert(
        self, request: ConversionRequest, header: Header, caller: Caller, stages: Stages, said: dict[str, Any]
    ) -> Conversion:
        generator = self.styles[request.style]
        said |= {"precision": generator.precision, **self.cache.counted(hit=False)}
        self._plan(header, request, generator, caller)
        return convert(request, header, generator, self.settings.max_side, stages)

    def _key(self, request: ConversionRequest) -> Hashable:
        """None where nothing is kept, or the style is none of ours."""
        style = self.styles.manifests.get(request.style)
        if not self.cache.most_bytes or not style:
            return None
        return cache.key(request, style.digest, self.styles.precision(request.style), self.settings.max_side)

    def _plan(
        self, header: Header, request: ConversionRequest, generator: FrozenGenerator, caller: Caller
    ) -> None:
        stored, limit = (header.width, header.height), self.settings.max_side
        (width, height), _ = image.target_size(stored, request.size, limit, request.upscale)
        needed = width * height * generator.seconds_per_pixel * 1000 * HEADROOM
        if caller.remaining_ms and (left := caller.remaining_ms()) < needed:
            raise OutOfTime(f"This takes about {needed:.0f} ms and {left} ms are left; ask for a smaller size.")

    def _log(
        self,
        request: ConversionRequest,
        caller: Caller,
        stages: Stages,
        error: ConversionError | None,
        said: Mapping[str, Any],
    ) -> None:
        pixels = said.get("input_width", 0) * said.get("input_height", 0)
        known = request.style if request.style in self.styles.manifests else "unknown"
        details = {**said, "error_message": str(error)} if error else said
        self.log.conversion(stages, known, caller.source, pixels, error.code if error else None, details)
