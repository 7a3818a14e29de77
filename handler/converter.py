"""Around the pipeline: limits before any work, one log line after it, and nothing but ConversionErrors out."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from handler import cache, image
from handler.convert import Conversion, ConversionRequest, convert
from handler.errors import ConversionError, OutOfTime
from handler.generator import FrozenGenerator, Styles
from handler.lines import NO_STYLE, Caller, Line, logged
from handler.metrics import LogLines
from handler.probe import Header
from handler.settings import Settings
from handler.stages import Stages

if TYPE_CHECKING:
    from handler.faces import Faces, Painter

HEADROOM = 1.2  # the other stages add about a tenth to the inference; time per pixel is the least seen yet


class Converter:
    """Everything that a conversion needs besides its request; leaves a log line for each, failed or not."""

    def __init__(self, settings: Settings, styles: Styles, log: LogLines) -> None:
        self.settings, self.styles, self.log = settings, styles, log
        self.cache = cache.Cache(cache.bound(settings.cache_bytes))
        self._cold = True

    def __call__(self, request: ConversionRequest, caller: Caller, queued: float = 0.0) -> Conversion:
        """Convert. Raises ConversionError only: a defect of ours becomes InternalError with its cause."""
        with logged(self.log, caller, Stages(queued)) as line:
            return self.picture(request, caller, line)

    def cached(self, request: ConversionRequest, caller: Caller) -> Conversion | None:
        """What the same request gave before, at once and with its log line; else None, and no line yet."""
        stages = Stages()  # the hash is part of what it takes
        if not (found := self.cache.get(self._key(request))):
            return None
        with logged(self.log, caller, stages) as line:
            return self.picture(request, caller, line, found)

    def refuse(self, error: ConversionError, caller: Caller) -> None:
        """Leave the log line of a conversion that never began: its request was wrong, or all slots were taken."""
        details = {**caller.properties, "error_message": str(error)}
        self.log.conversion(Stages(), NO_STYLE, caller.source, 0, error.code, details)

    def picture(
        self, request: ConversionRequest, caller: Caller, line: Line, found: Conversion | None = None
    ) -> Conversion:
        """Convert as part of more work, whose `line` is told what is known of it, also where it fails midway."""
        line.begun, line.style = True, request.style if request.style in self.styles.manifests else NO_STYLE
        line.said |= {"cold_start": self._cold, "input_bytes": len(request.data)}
        self._cold = False
        header = image.check(request.data, self.settings.max_input_bytes, self.settings.max_input_pixels)
        line.said |= _of_photo(header)
        key = self._key(request)
        if found := found or self.cache.get(key):
            line.said |= self.cache.counted("hit")
            done = replace(found, timings=line.stages.timings())
        else:
            done = self._convert(request, header, caller, line, key)
        line.said |= _of_picture(done)
        return done

    def _convert(
        self, request: ConversionRequest, header: Header, caller: Caller, line: Line, key: Hashable
    ) -> Conversion:
        generator = self.styles[request.style]
        line.said |= {"precision": generator.precision, "kernel": generator.kernel, **self.cache.counted("miss")}
        painter = self._painter(request, generator, caller, line) if request.face else None
        self._plan(header, request, generator, caller)
        done = convert(request, header, generator, self.settings.max_side, line.stages, painter)
        if not (painter and painter.hurried):  # the same request may find more time
            self.cache.put(key, replace(done, timings={}))
        return done

    def _painter(
        self, request: ConversionRequest, generator: FrozenGenerator, caller: Caller, line: Line
    ) -> Painter:
        return self._faces.painter(lambda: request.digest, generator, caller.remaining_ms, line.said)

    def paints_faces(self) -> bool:
        """Whether `face` can be asked for: the detector is there and whole."""
        return self._faces.detector.is_whole()

    @cached_property
    def _faces(self) -> Faces:
        from handler.face_detector import Detector  # OpenCV's, which other conversions need not load
        from handler.faces import Faces

        return Faces(Detector(self.settings.detector), self.cache)

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
        pixels = width * height + (generator.manifest.face_size**2 if request.face else 0)  # of one face at least
        needed = pixels * generator.seconds_per_pixel * 1000 * HEADROOM
        if caller.remaining_ms and (left := caller.remaining_ms()) < needed:
            raise OutOfTime(f"This takes about {needed:.0f} ms and {left} ms are left; ask for a smaller size.")


def _of_photo(header: Header) -> dict[str, Any]:
    said = {"input_format": header.format, "input_width": header.width, "input_height": header.height}
    return said | {"progressive": header.progressive} if header.format == "jpeg" else said


def _of_picture(done: Conversion) -> dict[str, Any]:
    said = {"output_format": done.format, "output_width": done.width, "output_height": done.height}
    return said | {"output_bytes": len(done.data), "warnings": list(done.warnings)}
