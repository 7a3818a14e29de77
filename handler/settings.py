"""The function's settings: environment variables, read once at init, every wrong value reported at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings

from handler.errors import SettingsError

MIB = 1024 * 1024

# Lambda refuses a synchronous response over 6 MB (6,291,556 bytes, Lambda quotas); base64 makes 4 bytes of
# every 3, and headers and the JSON around the picture need some room.
RESPONSE_IMAGE_BYTES = (6_291_556 - 64 * 1024) * 3 // 4


def default_styles_dir() -> Path:
    """Where frozen styles lie: in the image on Lambda, in the user's cache elsewhere."""
    if task_root := os.environ.get("LAMBDA_TASK_ROOT"):
        return Path(task_root) / "styles"
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "animegan" / "styles"


class Settings(BaseSettings):
    """One field per environment variable of the same name in capitals. Sizes in bytes or pixels."""

    style: str = Field(default="cel", min_length=1, description="style used when a request names none")
    styles_dir: Path = Field(default_factory=default_styles_dir, description="folder of frozen styles")
    max_input_bytes: int = Field(default=20 * MIB, ge=1, description="largest encoded photo")
    max_input_pixels: int = Field(default=50_000_000, ge=1, description="largest photo, checked before decoding")
    max_side: int = Field(default=1024, ge=32, le=8192, description="largest long side of a result, in pixels")
    max_output_bytes: int = Field(
        default=RESPONSE_IMAGE_BYTES, ge=1024, description="largest picture in an answer"
    )
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    num_threads: Literal["auto"] | int = Field(default="auto", description="threads of one conversion")
    max_concurrency: int = Field(default=1, ge=1, le=64, description="conversions at a time in one process")
    max_queue: int = Field(default=32, ge=0, description="conversions that may wait for a slot")

    @classmethod
    def from_environment(cls) -> Settings:
        """Read the environment. Raises SettingsError naming every variable that is wrong."""
        try:
            settings = cls()
        except ValidationError as error:
            wrong = "; ".join(f"{_variable(e['loc'])}={e['input']!r}: {e['msg']}" for e in error.errors())
            raise SettingsError(f"wrong environment: {wrong}") from None
        if isinstance(settings.num_threads, int) and settings.num_threads < 1:
            raise SettingsError(f"wrong environment: NUM_THREADS={settings.num_threads}: must be at least 1")
        return settings


def _variable(location: tuple[int | str, ...]) -> str:
    return str(location[0]).upper()
