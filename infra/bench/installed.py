"""What an extra brings, asked for before the work and not after it."""

from __future__ import annotations

from importlib.util import find_spec

from infra.errors import NotInstalled


def require(*packages: str, extra: str = "bench") -> None:
    """Raises NotInstalled, naming those that are not there."""
    if missing := [package for package in packages if not find_spec(package)]:
        raise NotInstalled(f"this needs {' and '.join(missing)}: pip install 'animegan-lambda[{extra}]'")
