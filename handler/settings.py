"""The function's settings: environment variables, read once at init, every wrong value reported at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field, NonNegativeInt, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from handler.errors import SettingsError

MIB = 1024 * 1024
PREFIX_BYTES = 256  # of the 1,024 that an S3 key may have
NAMESPACE = r"^[A-Za-z0-9._#][A-Za-z0-9._/#-]{0,254}$"  # what CloudWatch takes; else it drops metrics in silence
DETECTOR = "yunet.onnx"  # as `animegan pull yunet` names it
UPLOADS = "uploads/"  # where POST /uploads puts photos
MOST_THREADS = 1024  # OpenMP ends the process where it cannot start as many as it is asked for

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
    kernel: Literal["auto", "torch"] = Field(
        default="auto", description="torch leaves a style's own operators alone"
    )
    num_threads: Literal["auto"] | int = Field(default="auto", description="threads of one conversion")
    max_concurrency: int = Field(default=1, ge=1, le=64, description="conversions at a time in one process")
    max_queue: int = Field(default=32, ge=0, description="conversions that may wait for a slot")
    cache_bytes: Literal["auto"] | NonNegativeInt = Field(
        default="auto", description="most that pictures kept for the same request again may take; 0 keeps none"
    )
    output_bucket: str = Field(default="", description="where pictures of S3 objects go; the source's without it")
    upload_bucket: str = Field(default="", description="where POST /uploads lets clients put photos")
    output_prefix: str = Field(default="anime/", description="first part of their keys; marks them as ours")
    output_format: Literal["auto", "png", "jpeg", "webp"] = Field(
        default="auto", description="of pictures of S3 objects"
    )
    source_bucket: str = Field(default="", description="bucket of Distributed Map items that name none")
    powertools_metrics_namespace: str = Field(
        default="AnimeGAN", pattern=NAMESPACE, description="CloudWatch namespace of the metrics"
    )
    face_detector: str = Field(default="", description="YuNet's file; yunet.onnx in STYLES_DIR without it")
    error_reports: bool = Field(default=False, description="put a JSON object where a picture could not be made")
    force: bool = Field(default=False, description="convert S3 objects again whose picture is there already")

    @field_validator("powertools_metrics_namespace")
    @classmethod
    def _is_not_amazons(cls, namespace: str) -> str:
        if namespace.startswith("AWS/"):
            raise ValueError("AWS/ is CloudWatch's own: take a name such as AnimeGAN")
        return namespace

    @field_validator("output_prefix")
    @classmethod
    def _is_a_folder(cls, prefix: str) -> str:
        parts = prefix.split("/")
        if prefix and (parts.pop() or any(part in ("", ".", "..") for part in parts)):
            raise ValueError("must be a folder such as anime/: a slash at its end, and no empty part, . or ..")
        if len(prefix.encode()) > PREFIX_BYTES or not prefix.isprintable():
            raise ValueError(f"must have at most {PREFIX_BYTES} bytes, all printable")
        return prefix

    @field_validator("output_prefix")
    @classmethod
    def _cannot_loop(cls, prefix: str, others: ValidationInfo) -> str:
        output, upload = others.data.get("output_bucket"), others.data.get("upload_bucket")
        if output == "" and prefix == "":
            raise ValueError("pictures would be converted again: name an OUTPUT_BUCKET or a prefix such as anime/")
        if upload and output in ("", upload) and UPLOADS.startswith(prefix):
            raise ValueError(f"uploads ({UPLOADS}) would pass for pictures: take another prefix or OUTPUT_BUCKET")
        return prefix

    @property
    def detector(self) -> Path:
        """Where the face detector is, if it is there at all."""
        return Path(self.face_detector) if self.face_detector else self.styles_dir / DETECTOR

    @classmethod
    def from_environment(cls) -> Settings:
        """Read the environment. Raises SettingsError naming every variable that is wrong."""
        try:
            settings = cls()
        except ValidationError as error:
            wrong = "; ".join(f"{_variable(e['loc'])}={e['input']!r}: {e['msg']}" for e in error.errors())
            raise SettingsError(f"wrong environment: {wrong}") from None
        threads = settings.num_threads
        if isinstance(threads, int) and not 1 <= threads <= MOST_THREADS:
            raise SettingsError(f"wrong environment: NUM_THREADS={threads}: must be auto, or 1 to {MOST_THREADS}")
        return settings


def _variable(location: tuple[int | str, ...]) -> str:
    return str(location[0]).upper()
