"""A Lambda function on this machine: the init phase, the context, the log lines of an invocation, the limits.

It runs the handler in this process, and in that it is honest rather than complete: a conversion that takes
longer than its timeout is not killed (a thread cannot be) but finishes, and is reported as timed out, with the
time that it did take; memory is measured and not bounded.
"""

from __future__ import annotations

import logging
import math
import os
import resource
import sys
import time
import traceback
import uuid
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, TextIO

from infra import payloads
from infra.context import FUNCTION, LambdaContext

Handler = Callable[[Any, LambdaContext], Any]

INIT_LIMIT_MS = 10_000
TIMEOUT_S = 29.0  # where API Gateway gives up
MEMORY_MB = 1769


@dataclass(frozen=True, slots=True)
class Invocation:
    """What came of one invocation, and the figures of its REPORT line; `init_ms` only on the first."""

    request_id: str
    payload: Any
    function_error: bool
    duration_ms: float
    init_ms: float | None
    timed_out: bool


def load_handler() -> Handler:
    """The project's own function. Importing it is its init phase: raises SettingsError, StyleError."""
    from handler.main import lambda_handler

    return lambda_handler


def lambda_environment(memory_mb: int) -> None:
    """Set the variables that Lambda sets; call it before the function is loaded, which takes threads from them."""
    os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = str(memory_mb)
    os.environ.setdefault("AWS_LAMBDA_FUNCTION_NAME", FUNCTION)
    os.environ.setdefault("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")


class Emulator:
    """One execution environment: made once, then invoked any number of times."""

    def __init__(
        self,
        load: Callable[[], Handler] = load_handler,
        *,
        memory_mb: int = MEMORY_MB,
        limits: bool = True,
        log: TextIO | None = None,
        debug: bool = False,
    ) -> None:
        """Runs the init phase; raises what `load` raises. All that the function prints goes to `log` (stderr).

        `limits` refuses requests and responses over 6 MB; `debug` logs tracebacks.
        """
        self._memory_mb, self._limits, self._debug = memory_mb, limits, debug
        self._log = log or sys.stderr
        if not logging.root.handlers:  # Lambda's runtime routes Python's logging to the same log
            logging.root.addHandler(_handler(self._log))
        begun = time.perf_counter()
        with redirect_stdout(self._log):
            self._handler = load()
        self._init_ms: float | None = _since(begun)
        if self._init_ms > INIT_LIMIT_MS:
            self._say(f"INIT_REPORT Init Duration: {self._init_ms:.2f} ms\tPhase: init\tStatus: timeout")

    def invoke(self, event: Any, timeout_s: float = TIMEOUT_S) -> Invocation:
        """Invoke once. Raises RequestTooLarge; what the function raises becomes its payload, as in Lambda."""
        if self._limits:
            payloads.check_request(event)
        context = LambdaContext(str(uuid.uuid4()), str(self._memory_mb), timeout_s)
        self._say(f"START RequestId: {context.aws_request_id} Version: {context.function_version}")
        begun = time.perf_counter()
        with redirect_stdout(self._log):
            payload, failed = self._run(event, context)
        spent = _since(begun)
        timed_out = spent > timeout_s * 1000
        if timed_out:
            payload, failed = payloads.timed_out(context.aws_request_id, timeout_s), True
        init_ms, self._init_ms = self._init_ms, None
        done = Invocation(context.aws_request_id, payload, failed, spent, init_ms, timed_out)
        self._report(done)
        return done

    def _run(self, event: Any, context: LambdaContext) -> tuple[Any, bool]:
        """(payload, whether it is an error). Only Exceptions: Ctrl-C is for whoever runs the emulator."""
        try:
            answer = self._handler(event, context)
        except Exception as error:
            self._say(f"[ERROR] {type(error).__name__}: {error}")
            if self._debug:
                self._say(traceback.format_exc())
            return payloads.error(type(error).__name__, str(error), context.aws_request_id), True
        return payloads.marshalled(answer, context.aws_request_id, self._limits)

    def _report(self, done: Invocation) -> None:
        # Lambda bills the init phase with the first invocation.
        billed = math.ceil(done.duration_ms + (done.init_ms or 0))
        fields = [
            f"REPORT RequestId: {done.request_id}",
            f"Duration: {done.duration_ms:.2f} ms",
            f"Billed Duration: {billed} ms",
            f"Memory Size: {self._memory_mb} MB",
            f"Max Memory Used: {max_memory_mb()} MB",
        ]
        if done.init_ms is not None:
            fields.append(f"Init Duration: {done.init_ms:.2f} ms")
        if done.timed_out:
            fields.append("Status: timeout")
        self._say(f"END RequestId: {done.request_id}\n" + "\t".join(fields))

    def _say(self, line: str) -> None:
        print(line, file=self._log, flush=True)


def max_memory_mb() -> int:
    """The most memory that this process has held since it began, in MiB."""
    # In kilobytes on Linux and in bytes on macOS (getrusage(2)).
    unit = 1024 if sys.platform == "darwin" else 1
    return math.ceil(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit / 1024)


def _handler(log: TextIO) -> logging.Handler:
    """Writes to `log` as long as that is open: what is logged later, nobody is there to read."""
    handler = logging.StreamHandler(log)
    handler.addFilter(lambda record: not log.closed)
    return handler


def _since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1000
