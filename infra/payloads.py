"""What may go into and come out of an invocation, and Lambda's own words where it may not."""

from __future__ import annotations

import json
from typing import Any

from infra.errors import RequestTooLarge

# Lambda quotas, "Invocation payload (request and response)": 6 MB each, synchronous.
REQUEST_BYTES = 6_291_456
RESPONSE_BYTES = 6_291_556


def check_request(event: Any) -> None:
    """Raises RequestTooLarge for an event that Lambda would refuse to pass on."""
    if (size := len(_text(event).encode(errors="surrogatepass"))) > REQUEST_BYTES:  # as escapes, they may come in
        raise RequestTooLarge(
            f"The event has {size:,} bytes; Lambda takes {REQUEST_BYTES:,} (6 MB) and would not make the call. "
            "Send a smaller photo (base64 makes 4 bytes of 3), or pass --no-limits."
        )


def marshalled(answer: Any, request_id: str, limits: bool) -> tuple[Any, bool]:
    """(the answer, False), or (an error, True) where it is no JSON or, with `limits`, too large."""
    try:
        size = len(_text(answer).encode())
    except (TypeError, ValueError) as why:  # also for half of a surrogate pair, which Lambda's runtime cannot send
        return error("Runtime.MarshalError", f"Unable to marshal response: {why}", request_id), True
    if limits and size > RESPONSE_BYTES:
        said = f"Response payload size ({size} bytes) exceeded maximum allowed payload size"
        return error("Function.ResponseSizeTooLarge", f"{said} ({RESPONSE_BYTES} bytes).", request_id), True
    return answer, False


def error(kind: str, message: str, request_id: str) -> dict[str, str]:
    """A function error's payload, as a caller gets it."""
    return {"errorType": kind, "errorMessage": message, "requestId": request_id}


def timed_out(request_id: str, timeout_s: float) -> dict[str, str]:
    """The payload of an invocation that was stopped."""
    why = f"RequestId: {request_id} Error: Task timed out after {timeout_s:.2f} seconds"
    return {"errorType": "Sandbox.Timedout", "errorMessage": why}


def _text(value: Any) -> str:
    """As Lambda's runtime writes it, since Python 3.12 (awslambdaric/lambda_runtime_marshaller.py)."""
    return json.dumps(value, ensure_ascii=False)
