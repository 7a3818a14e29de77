"""A photo as the event that API Gateway makes of its upload (HTTP API, payload format 2.0)."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode


def post(path: str, body: bytes, content_type: str, query: Mapping[str, str]) -> dict[str, Any]:
    """POST `body` to `path`. Accept asks for JSON, which has size, timings and warnings beside the picture."""
    now = time.time()
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": urlencode(query),
        "headers": {
            "accept": "application/json",
            "content-length": str(len(body)),
            "content-type": content_type,
            "host": "localhost",
        },
        "queryStringParameters": dict(query),
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": "localhost",
            "domainPrefix": "local",
            "http": {
                "method": "POST",
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "animegan",
            },
            "requestId": uuid.uuid4().hex,
            "routeKey": "$default",
            "stage": "$default",
            "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
            "timeEpoch": int(now * 1000),
        },
        "body": base64.b64encode(body).decode("ascii"),
        "isBase64Encoded": True,
    }
