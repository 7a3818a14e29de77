"""The context object of an invocation, attribute for attribute as Lambda's Python runtime makes it."""

from __future__ import annotations

import time
import uuid
from types import SimpleNamespace

FUNCTION = "animegan"
VERSION = "$LATEST"
LOG_STREAM = f"{time.strftime('%Y/%m/%d')}/[{VERSION}]{uuid.uuid4().hex}"  # one per environment


class LambdaContext:
    """`get_remaining_time_in_millis()` counts down from the timeout to 0."""

    def __init__(self, request_id: str, memory_mb: str, timeout_s: float) -> None:
        self._deadline = time.monotonic() + timeout_s
        self.aws_request_id = request_id
        self.function_name = FUNCTION
        self.function_version = VERSION
        self.invoked_function_arn = f"arn:aws:lambda:local:000000000000:function:{FUNCTION}"
        self.memory_limit_in_mb = memory_mb  # a string in Lambda too
        self.log_group_name = f"/aws/lambda/{FUNCTION}"
        self.log_stream_name = LOG_STREAM
        self.identity = SimpleNamespace(cognito_identity_id=None, cognito_identity_pool_id=None)
        self.client_context = None
        self.tenant_id = None

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self._deadline - time.monotonic()) * 1000))

    def log(self, message: object) -> None:
        """Deprecated in Lambda, and there."""
        print(message)
