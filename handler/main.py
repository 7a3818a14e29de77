"""Where Lambda enters. Importing this module is the init phase; an invocation only answers its event."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Logger

from handler import IMPORTED
from handler.function import Function
from handler.settings import Settings

if "AWS_LAMBDA_RUNTIME_API" in os.environ:  # elsewhere, whoever runs the function says where its log goes
    Logger(name="animegan")  # JSON lines, LOG_LEVEL, POWERTOOLS_SERVICE_NAME

_function = Function(Settings.from_environment(), begun=IMPORTED)

app = _function.app  # for uvicorn, and anything else that speaks ASGI


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """The entry point that Lambda calls. Raises UnknownEvent and Unfinished."""
    return _function(event, context)
