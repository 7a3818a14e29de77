"""What calls the function, told apart by the shape of its event: one class per source.

Mangum turns an HTTP event into ASGI, but assumes well-formed events from a stage without prefix. So each
class here also fills in what may be null, and knows which part of the path belongs to the stage or mapping.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, ClassVar

from handler.errors import InvalidBase64

Event = Mapping[str, Any]


class HttpApi:
    """API Gateway HTTP APIs, payload format 2.0."""

    source: ClassVar[str] = "http-api"

    @classmethod
    def infer(cls, event: Event) -> bool:
        return event.get("version") == "2.0" and "http" in _context(event)

    @classmethod
    def complete(cls, event: Event) -> dict[str, Any]:
        context = _context(event)
        http = {"method": "GET", "path": event.get("rawPath") or "/", "sourceIp": "", **context["http"]}
        # Mangum unquotes this one; rawPath comes unquoted already from some gateways.
        return {**_without_nulls(event), "requestContext": {**context, "http": http}}

    @classmethod
    def prefix(cls, event: Event) -> str:
        """The stage, or the mapping of a custom domain, at the start of the path."""
        context = _context(event)
        path: str = context["http"]["path"]
        stage = "/" + str(context.get("stage") or "$default")
        if path == stage or path.startswith(stage + "/"):
            return stage
        _, _, route = str(context.get("routeKey") or "$default").partition(" ")
        return _before(path, route, event)


class FunctionUrl(HttpApi):
    """Lambda function URLs: payload format 2.0 as well, told apart by the domain."""

    source = "function-url"

    @classmethod
    def infer(cls, event: Event) -> bool:
        return super().infer(event) and ".lambda-url." in str(_context(event).get("domainName"))


class Alb:
    """Application Load Balancer targets, with or without multi-value headers."""

    source: ClassVar[str] = "alb"

    @classmethod
    def infer(cls, event: Event) -> bool:
        return "elb" in _context(event)

    @classmethod
    def complete(cls, event: Event) -> dict[str, Any]:
        return {"httpMethod": "GET", "path": "/", **_without_nulls(event)}

    @classmethod
    def prefix(cls, event: Event) -> str:
        return ""


class RestApi:
    """API Gateway REST APIs, and HTTP APIs with payload format 1.0."""

    source: ClassVar[str] = "rest-api"

    @classmethod
    def infer(cls, event: Event) -> bool:
        return "httpMethod" in event and "requestContext" in event

    @classmethod
    def complete(cls, event: Event) -> dict[str, Any]:
        return {"resource": "", "path": "/", **_without_nulls(event)}

    @classmethod
    def prefix(cls, event: Event) -> str:
        """A custom domain's mapping is part of `path`; the stage is not, and shows in requestContext.path."""
        path = str(event["path"])
        if mapping := _before(path, str(event["resource"]), event):
            return mapping
        whole = str(_context(event).get("path") or path)
        return whole.removesuffix(path) if path != "/" else ""


HttpSource = type[HttpApi] | type[RestApi] | type[Alb]
HTTP: tuple[HttpSource, ...] = (FunctionUrl, HttpApi, Alb, RestApi)


def http_source(event: Event) -> HttpSource | None:
    """The HTTP source that an event came from, or None."""
    return next((kind for kind in HTTP if kind.infer(event)), None)


def source(event: Event | None) -> str:
    """A short name for logs; `server` when a request came without an event, through a plain server."""
    kind = http_source(event) if event else None
    return kind.source if kind else "server"


def is_warm_up(event: Event) -> bool:
    """Scheduled events and the pings of common warm-up plugins."""
    scheduled = event.get("detail-type") == "Scheduled Event" or event.get("source") == "aws.scheduler"
    return scheduled or event.get("source") == "serverless-plugin-warmup" or event.get("warmup") in (True, "true")


def check_body(event: Event) -> None:
    """Raises InvalidBase64 where the event says that its body is base64 and it is not."""
    if event.get("isBase64Encoded"):
        try:
            base64.b64decode(event.get("body") or "", validate=True)
        except (binascii.Error, ValueError, TypeError) as error:
            raise InvalidBase64(f"The event says isBase64Encoded, but its body is not ({error}).") from None


def _context(event: Event) -> Mapping[str, Any]:
    context = event.get("requestContext")
    return context if isinstance(context, Mapping) else {}


def _without_nulls(event: Event) -> dict[str, Any]:
    """Test consoles send null for what is absent; as a missing key it means the same and parses."""
    filled = {key: value for key, value in event.items() if value is not None}
    return {"headers": {}, **filled}


def _before(path: str, route: str, event: Event) -> str:
    """What comes before a route such as /convert or /{proxy+} in the path of a request that matched it."""
    proxy = (event.get("pathParameters") or {}).get("proxy")
    route = route.replace("{proxy+}", proxy or "{proxy+}")
    known = route.startswith("/") and route != "/" and "{" not in route
    return path.removesuffix(route) if known and path.endswith(route) else ""
