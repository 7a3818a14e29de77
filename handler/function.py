"""The function and its dispatch: HTTP events go through Mangum to the FastAPI application, S3 events to S3Events,
warm-ups are answered at once, and anything else is an UnknownEvent.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from mangum import Mangum
from starlette.types import ASGIApp, Receive, Scope, Send

from handler import __version__, cpu
from handler.answers import EveryAnswer, problem
from handler.api import create_app
from handler.converter import Converter
from handler.envelopes import envelope
from handler.errors import ConversionError, UnknownEvent
from handler.events import HttpSource, check_body, http_source, is_warm_up
from handler.generator import Styles
from handler.lines import Caller
from handler.metrics import LogLines
from handler.settings import Settings
from handler.slots import Slots
from handler.stages import milliseconds

if TYPE_CHECKING:
    from handler.s3 import S3Events

# Everything else leaves as base64: API Gateway cannot carry a picture's bytes.
TEXT = ["text/", "image/svg+xml", "application/json", "application/problem+json", "application/javascript"]


class Function:
    """The function for one environment: settings, thread policy, the default style loaded and warm, routes."""

    def __init__(self, settings: Settings, begun: float) -> None:
        """Raises StyleError; leaves the init log line. `begun` is when init began, as time.perf_counter has it."""
        imported = time.perf_counter()
        available = cpu.vcpus()
        threads = cpu.set_threads(settings.num_threads, available)
        self.styles = Styles.of(settings)
        generator = self.styles.default(settings.style)
        log = LogLines(vcpus=available, threads=threads, namespace=settings.powertools_metrics_namespace)
        self._converter = Converter(settings, self.styles, log)
        self.app: FastAPI = create_app(self._converter, Slots(settings.max_concurrency, settings.max_queue))
        details = {
            "version": __version__,
            "precision": generator.precision,
            "kernel": generator.kernel,
            "processor": cpu.processor(),
            "cache_limit": self._converter.cache.most_bytes,
            "import_ms": milliseconds(imported - begun),
            "load_ms": milliseconds(generator.load_seconds),
            "warm_up_ms": milliseconds(generator.warm_up_seconds),
        }
        log.init(settings.style, time.perf_counter() - begun, details)

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Answer one event. Raises UnknownEvent, and Unfinished to have S3 objects tried again."""
        if not isinstance(event, Mapping):
            raise UnknownEvent(f"The event is a {type(event).__name__}, not an object.")
        if kind := http_source(event):
            return self._http(kind, event, context)
        if is_warm_up(event):
            return {"warm": True, "version": __version__}
        if delivered := envelope(event):
            return self._s3(delivered, context)
        raise UnknownEvent(
            f"An event with the keys {sorted(map(str, event))[:12]} is none that this function answers: "
            "API Gateway (payload 1.0 or 2.0), a function URL, an Application Load Balancer, S3 (also through "
            "SNS, SQS, EventBridge, Batch Operations or a Distributed Map), a schedule."
        )

    @cached_property
    def _s3(self) -> S3Events:
        from handler.s3 import S3Events  # boto3 takes a quarter of a second, which HTTP events need not pay
        from handler.storage import storage

        return S3Events(self._converter, storage())

    def _http(self, kind: HttpSource, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """What happens inside the application is answered by it; what is raised here is of the event itself."""
        try:
            complete = kind.complete(event)
            app = Mounted(self._application(kind, complete, context), kind.prefix(complete))
            answer: dict[str, Any] = Mangum(app, lifespan="off", text_mime_types=TEXT)(complete, context)
        except (LookupError, TypeError, AttributeError, ValueError, RuntimeError) as error:
            raise UnknownEvent(f"The {kind.source} event is malformed ({error!r}).") from error
        return answer

    def _application(self, kind: HttpSource, event: dict[str, Any], context: Any) -> ASGIApp:
        """Ours, or one that refuses a body that is not the base64 it claims to be."""
        try:
            check_body(event)
        except ConversionError as error:
            event["body"] = None
            self._converter.refuse(error, Caller(kind.source, {"request_id": context.aws_request_id}))
            return EveryAnswer(problem(error.status, error.code, error.title, str(error)))
        return self.app


class Mounted:
    """An application below a stage or mapping: its routes match, and /docs finds the OpenAPI document."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "root_path": self._prefix}, receive, send)
