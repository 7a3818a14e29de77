"""Events as AWS sends them, in the four HTTP shapes, made by hand from its documentation."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

Event = dict[str, Any]
SINGLE = ("headers", "queryStringParameters")
MULTIPLE = ("multiValueHeaders", "multiValueQueryStringParameters")


@dataclass
class Context:
    """What of Lambda's context the function reads."""

    aws_request_id: str = "8f507cfc-example"
    remaining_ms: int = 29_000

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms


def http_api(
    method: str = "POST",
    path: str = "/convert",
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    stage: str = "$default",
    route: str = "$default",
    domain: str = "abc123.execute-api.eu-central-1.amazonaws.com",
) -> Event:
    """API Gateway HTTP API, payload format 2.0."""
    return {
        "version": "2.0",
        "routeKey": route,
        "rawPath": path,
        "rawQueryString": urlencode(query or {}),
        "headers": {"host": domain, **(headers or {})},
        "requestContext": {
            "domainName": domain,
            "stage": stage,
            "routeKey": route,
            "requestId": "JKJaXmPLvHcESHA=",
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
        },
        **_body(body),
    }


def function_url(method: str = "POST", path: str = "/convert", **more: Any) -> Event:
    """A Lambda function URL."""
    return http_api(method, path, domain="abc123.lambda-url.eu-central-1.on.aws", **more)


def rest_api(
    method: str = "POST",
    path: str = "/convert",
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    stage: str = "prod",
    resource: str = "/{proxy+}",
) -> Event:
    """API Gateway REST API, payload format 1.0, called through its own domain."""
    return {
        "resource": resource,
        "path": path,
        "httpMethod": method,
        "headers": dict(headers or {}) or None,
        "multiValueHeaders": {name: [value] for name, value in (headers or {}).items()} or None,
        "queryStringParameters": dict(query or {}) or None,
        "multiValueQueryStringParameters": {name: [value] for name, value in (query or {}).items()} or None,
        "pathParameters": {"proxy": path.lstrip("/")},
        "requestContext": {"stage": stage, "path": f"/{stage}{path}", "identity": {"sourceIp": "192.0.2.1"}},
        **_body(body),
    }


def alb(
    method: str = "POST",
    path: str = "/convert",
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    multi_value: bool = False,
) -> Event:
    """An Application Load Balancer target."""
    wrap: Callable[[str], Any] = (lambda value: [value]) if multi_value else (lambda value: value)
    names = MULTIPLE if multi_value else SINGLE
    target = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/anime/0123456789abcdef"
    return {
        "requestContext": {"elb": {"targetGroupArn": target}},
        "httpMethod": method,
        "path": path,
        names[0]: {name: wrap(value) for name, value in {"host": "lb.example", **(headers or {})}.items()},
        names[1]: {name: wrap(value) for name, value in (query or {}).items()},
        **_body(body),
    }


def _body(body: bytes) -> Event:
    return {"body": base64.b64encode(body).decode() if body else None, "isBase64Encoded": bool(body)}
