"""The conversion by itself, without HTTP or S3 around it and with nothing kept, for what is measured inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra import progress, styles

if TYPE_CHECKING:
    from handler.converter import Converter


def pipeline(**settings: Any) -> Converter:
    """By the environment's settings, but for those given. Raises SettingsError, and what styles.load raises."""
    import torch

    from handler import cpu
    from handler.converter import Converter
    from handler.metrics import LogLines
    from handler.settings import Settings

    chosen = Settings.from_environment().model_copy(update={"cache_bytes": 0, **settings})
    loaded = styles.load(chosen, progress.plain)
    return Converter(chosen, loaded, LogLines(cpu.vcpus(), torch.get_num_threads()))
