"""Where runs take place: the variables that processes get, their logs, and S3 if it is needed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra import http_event
from infra.faults.environments import Event, environments
from infra.faults.fleet import Fleet, servers
from infra.faults.scenario import Half, Target
from infra.faults.store import Store, store

CPUS = 2  # that everything has, on whatever machine
# What whoever runs this has set is not to decide what is measured.
THEIRS = (
    *(
        "AWS_",
        "CACHE_",
        "ERROR_REPORTS",
        "FORCE",
        "KERNEL",
        "KMP_",
        "MAX_",
        "MKL_",
        "NUM_THREADS",
        "OMP_",
        "OUTPUT_",
    ),
    *("POWERTOOLS_", "PRECISION", "SOURCE_", "STYLE", "UPLOAD_"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """How fleets come about, and where the delays of S3 are set."""

    fleet: Callable[[Half], AbstractContextManager[Fleet]]
    delays: dict[str, float]


@contextmanager
def place(target: Target, logs: Path, styles: Path) -> Iterator[Place]:
    """For one run; each process writes a file of its own in `logs`. Raises NotInstalled."""

    def log() -> Path:
        return logs / f"{time.time_ns()}.log"

    with ExitStack() as stack:
        s3 = stack.enter_context(store()) if target == "s3_event" else None
        always = {**_environment(styles), **(s3.environment if s3 else {})}

        def fleet(half: Half) -> AbstractContextManager[Fleet]:
            variables = {**always, **half.variables}
            if target == "serve":
                return servers(half, variables, log)
            return environments(half, variables, log, _event(s3))

        yield Place(fleet, s3.proxy.delays if s3 else {})


@contextmanager
def pinned() -> Iterator[None]:
    """This thread, and all that it starts meanwhile, to as many CPUs as the plan is made for."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:CPUS])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _event(s3: Store | None) -> Event:
    if s3:
        return s3.event
    return lambda wish: http_event.post("/convert", wish.photo, wish.type, wish.query)


def _environment(styles: Path) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(THEIRS)}
    return {**kept, "STYLES_DIR": os.fspath(styles), "CACHE_BYTES": "0"}
