"""Where Lambda enters. Importing this module is the init phase; an invocation only answers its event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handler import IMPORTED
from handler.function import Function
from handler.settings import Settings

_function = Function(Settings.from_environment(), begun=IMPORTED)

app = _function.app  # for uvicorn, and anything else that speaks ASGI


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """The entry point that Lambda calls. Raises UnknownEvent and Unfinished."""
    return _function(event, context)
