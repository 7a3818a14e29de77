"""Where Lambda enters. Importing this module is the init phase; an invocation only answers its event."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from typing import Any

# Imports make nothing but objects that stay, so looking for garbage among them is a sixth of init for nothing.
gc.disable()

from aws_lambda_powertools import Logger  # noqa: E402

from handler import IMPORTED  # noqa: E402
from handler.function import Function  # noqa: E402
from handler.settings import Settings  # noqa: E402

if "AWS_LAMBDA_RUNTIME_API" in os.environ:  # elsewhere, whoever runs the function says where its log goes
    Logger(name="animegan")  # JSON lines, LOG_LEVEL, POWERTOOLS_SERVICE_NAME

_function = Function(Settings.from_environment(), begun=IMPORTED)

gc.freeze()  # nor is it looked through after each invocation
gc.enable()

app = _function.app  # for uvicorn, and anything else that speaks ASGI


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """The entry point that Lambda calls. Raises UnknownEvent and Unfinished."""
    return _function(event, context)
