"""What surrounds inference in a conversion, step by step: ours, and the usual way through PIL. Milliseconds.

`python -m infra.bench.outside FOLDER SIZE TIMES` measures, in a process of its own: FOLDER has the styles
(engines.prepare) and the photos; one JSON object per photo goes to stdout.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from infra.allocators import tcmalloc
from infra.bench.engines import STYLES
from infra.bench.ways import QUALITY, STEPS, ours, through_pil
from infra.errors import BadRequest

ROOT = Path(__file__).parents[2]
PHOTOS = "photos"
THREADS = ("NUM_THREADS", "OMP_NUM_THREADS")
Steps = dict[str, list[float]]


@dataclass
class Outside:
    """Of one photo. `ours` and `pil`: the steps, in turns. `conversions` are whole invocations of the function,
    there and back with base64 in JSON, and `outside` what of each was not inference.
    """

    photo: str
    photo_bytes: int
    ours: Steps = field(default_factory=lambda: {step: [] for step in STEPS})
    pil: Steps = field(default_factory=lambda: {step: [] for step in STEPS})
    conversions: list[float] = field(default_factory=list)
    outside: list[float] = field(default_factory=list)


def compare(
    folder: Path, photos: Iterable[tuple[str, bytes]], size: int, threads: int, times: int
) -> list[Outside]:
    """`folder` is as engines.prepare leaves it. Raises BadRequest where the function fails."""
    (folder / PHOTOS).mkdir()
    for number, (name, data) in enumerate(photos):
        (folder / PHOTOS / f"{number:02} {name}").write_bytes(data)
    command = [sys.executable, "-m", "infra.bench.outside", str(folder), str(size), str(times)]
    done = subprocess.run(command, env=_environment(folder, size, threads), capture_output=True, text=True)
    if done.returncode:
        raise BadRequest(f"Around inference: {(done.stderr.strip().splitlines() or ['it does not say why'])[-1]}")
    return [Outside(**json.loads(line)) for line in done.stdout.splitlines()]


def _environment(folder: Path, size: int, threads: int) -> dict[str, str]:
    """As the image has it, with nothing kept from one conversion to the next."""
    limits = {"MAX_SIDE": str(size), "MAX_INPUT_BYTES": str(2**27), "MAX_OUTPUT_BYTES": str(2**27)}
    style = {"STYLES_DIR": str(folder / STYLES), "STYLE": "cel", "CACHE_BYTES": "0"}
    process = {"PYTHONPATH": str(ROOT), "LD_PRELOAD": tcmalloc()}
    return {**os.environ, **limits, **style, **dict.fromkeys(THREADS, str(threads)), **process}


def measure(photo: str, data: bytes, size: int, times: int, invoke: Callable[[Any], Any]) -> Outside:
    """`invoke` takes an event and gives the function's answer. Both ways and the function take turns."""
    found = Outside(photo, len(data))
    for turn in range(times + 1):
        for steps, way in ((found.ours, ours), (found.pil, through_pil)):
            spent = way(data, size)
            if turn:  # the first loads libraries
                for step in STEPS:
                    steps[step].append(spent[step])
        _invoked(found, invoke, data, size, turn > 0)
    return found


def _invoked(found: Outside, invoke: Callable[[Any], Any], data: bytes, size: int, counts: bool) -> None:
    event = _event(data, size)
    begun = time.perf_counter()
    answer = invoke(event)
    spent = (time.perf_counter() - begun) * 1000
    if answer["statusCode"] != 200:
        raise BadRequest(f"{found.photo}: {answer['body']}")
    if counts:
        found.conversions.append(spent)
        found.outside.append(spent - json.loads(answer["body"])["timings"]["inference"])


def _event(data: bytes, size: int) -> dict[str, Any]:
    """A function URL's, with the photo in JSON, and asking for JSON."""
    body = json.dumps({"image": base64.b64encode(data).decode(), "size": size, "quality": QUALITY})
    said = {"content-type": "application/json", "accept": "application/json", "content-length": str(len(body))}
    event: dict[str, Any] = json.loads((ROOT / "infra/events/http_v2.json").read_text())
    rest = {"rawQueryString": "", "queryStringParameters": {}, "isBase64Encoded": False}
    return {**event, **rest, "body": body, "headers": {**event["headers"], **said}}


def main(folder: Path, size: int, times: int) -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the function's log, which begins with its import
    from handler.main import lambda_handler
    from infra.context import LambdaContext
    from infra.emulator import MEMORY_MB, TIMEOUT_S

    def invoke(event: Any) -> Any:
        return lambda_handler(event, LambdaContext("", str(MEMORY_MB), TIMEOUT_S))

    for path in sorted((folder / PHOTOS).iterdir()):
        found = measure(path.name.partition(" ")[2], path.read_bytes(), size, times, invoke)
        print(json.dumps(asdict(found)), file=out, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
