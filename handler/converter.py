"""Around the pipeline: limits before any work, one log line after it, and nothing but ConversionErrors out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from handler import image
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
        self._cold = True

    def __call__(self, request: ConversionRequest, caller: Caller, queued: float = 0.0) -> Conversion:
        """Convert. Raises ConversionError only: a defect of ours becomes InternalError with its cause."""
        stages = Stages(queued)
        said: dict[str, Any] = {**caller.properties, "cold_start": self._cold, "input_bytes": len(request.data)}
        self._cold = False
        error: ConversionError | None = None
        try:
            return self._convert(request, caller, stages, said)
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

    def refuse(self, error: ConversionError, caller: Caller) -> None:
        """Leave the log line of a conversion that never began: its request was wrong, or all slots were taken."""
        details = {**caller.properties, "error_message": str(error)}
        self.log.conversion(Stages(), "unknown", caller.source, 0, error.code, details)

    def _convert(
        self, request: ConversionRequest, caller: Caller, stages: Stages, said: dict[str, Any]
    ) -> Conversion:
        header = image.check(request.data, self.settings.max_input_bytes, self.settings.max_input_pixels)
        said |= {"input_format": header.format, "input_width": header.width, "input_height": header.height}
        generator = self.styles[request.style]
        said |= {"precision": generator.precision}
        self._plan(header, request, generator, caller)
        done = convert(request, header, generator, self.settings.max_side, stages)
        said |= {"output_format": done.format, "output_width": done.width, "output_height": done.height}
        said |= {"output_bytes": len(done.data), "warnings": list(done.warnings)}
        return done

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
