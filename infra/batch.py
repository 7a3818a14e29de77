"""`animegan convert`: each photo through the real function, as an HTTP event, one after the other."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from infra import http_event, interrupts
from infra.aside import clear
from infra.emulator import Emulator, Invocation
from infra.outcome import Outcome
from infra.outputs import Taken, Targets, write
from infra.photos import Found, Photo
from infra.text import reason, shown

NO_TIMEOUT_S = 24 * 3600.0  # nobody waits behind a gateway
# What a laptop need not refuse. The pixel limit stays: it guards the memory.
MAX_BYTES = 1024**3
LOCAL_LIMITS = {"MAX_INPUT_BYTES": MAX_BYTES, "MAX_OUTPUT_BYTES": MAX_BYTES}
MAX_SIDE, LARGEST_SIDE = 1024, 8192  # the default of the setting, and the most that it takes


def set_local_limits(size: int | None) -> None:
    """Lift the limits that only an API needs, unless the environment sets them. Before the function loads."""
    side = min(max(size or 0, MAX_SIDE), LARGEST_SIDE)
    known = {name.upper() for name in os.environ}
    for name, value in {**LOCAL_LIMITS, "MAX_SIDE": side}.items():
        if name not in known:
            os.environ[name] = str(value)


class Batch:
    """The photos that were found. The function is started when the first of them needs it."""

    def __init__(
        self,
        start: Callable[[], Emulator],
        found: Found,
        out: Path | None,
        parameters: Mapping[str, str],
        force: bool = False,
        is_stale: Callable[[Photo, Path], bool] = lambda photo, target: False,
    ) -> None:
        """`parameters` are those of POST /convert. What is there is kept, but for `force` and `is_stale`."""
        self._out = out
        self._start, self._found = start, found
        self._parameters, self._force, self._is_stale = parameters, force, is_stale
        self._targets = Targets(found.photos, out, parameters.get("format"))

    def after(self, before: Batch) -> Batch:
        """This one, with all names kept that were given in the one before."""
        format = self._parameters.get("format")
        self._targets = Targets(self._found.photos, self._out, format, before._targets)
        return self

    def __len__(self) -> int:
        return len(self._found.bad) + len(self._found.photos)

    def __iter__(self) -> Iterator[Outcome]:
        """An outcome per photo as it is done, those that could not even be looked at first.

        Raises what starting the function raises.
        """
        for path, why in self._found.bad:
            yield Outcome.failed(path, "unreadable", why)
        for photo in self._found.photos:
            yield self.one(photo)

    @cached_property
    def _emulator(self) -> Emulator:
        return self._start()

    def one(self, photo: Photo) -> Outcome:
        """What becomes of one of the photos. Raises what starting the function raises."""
        try:
            target = self._targets.claim(photo)
            clear(target.parent)
            if self._is_kept(photo, target):
                return Outcome.exists(photo.path, target)
            data = _read(photo.path)
        except Taken as error:
            return Outcome.failed(photo.path, "name_taken", str(error))
        except OSError as error:
            return Outcome.failed(photo.path, "unreadable", reason(error))
        event = http_event.post("/convert", data, "application/octet-stream", self._parameters)
        with interrupts.anywhere():
            answer, problem = _answer(self._emulator.invoke(event, NO_TIMEOUT_S))
        return Outcome.failed(photo.path, *problem) if problem else self._save(photo, answer)

    def _save(self, photo: Photo, answer: dict[str, Any]) -> Outcome:
        try:
            target = self._targets.claim(photo, answer["format"])
            if self._is_kept(photo, target):
                return Outcome.exists(photo.path, target)
            write(target, base64.b64decode(answer["image"]))
        except Taken as error:
            return Outcome.failed(photo.path, "name_taken", str(error))
        except OSError as error:
            return Outcome.failed(photo.path, "unwritable", f"{shown(target)}: {reason(error)}")
        told = {key: answer[key] for key in ("format", "width", "height", "style", "timings")}
        return Outcome(str(photo.path), "converted", str(target), warnings=tuple(answer["warnings"]), **told)

    def _is_kept(self, photo: Photo, target: Path) -> bool:
        return os.path.lexists(target) and not self._force and not self._is_stale(photo, target)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        if (size := os.fstat(file.fileno()).st_size) > MAX_BYTES:  # not even to be refused by the function
            raise OSError(f"the file has {size:,} bytes; at most {MAX_BYTES:,} are taken")
        return file.read()


def _answer(done: Invocation) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """(the JSON answer, None), or ({}, (code, detail)) of the problem."""
    if done.function_error:
        return {}, ("function_error", f"{done.payload['errorType']}: {done.payload['errorMessage']}")
    answer: dict[str, Any] = json.loads(done.payload["body"])
    if done.payload["statusCode"] >= 400:
        return {}, (answer["code"], answer["detail"])
    return answer, None
