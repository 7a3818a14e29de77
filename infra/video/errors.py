"""What can go wrong with a clip."""

from __future__ import annotations

from infra.errors import ToolError


class VideoError(ToolError):
    """A clip that cannot be read, painted or written; says which, and what to do."""
