"""A cold start taken apart, inside the image and within Lambda's limits: runtime, imports, load, warm-up."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from statistics import median

from infra.bench.container import Sandbox

# Seconds since this process began: on Linux, what /proc counts in ticks of 10 ms is too coarse, so a parent looks.
LAUNCH = """
import subprocess, sys, time
begun = time.time()
print(float(subprocess.check_output([sys.executable, "-c", "import time; print(time.time())"])) - begun)
"""
BARE = "import time; t = time.perf_counter(); import torch; print((time.perf_counter() - t) * 1000)"
INIT = """
import sys, time
sys.path.insert(0, "/var/task")
t = time.perf_counter()
import handler.main
print((time.perf_counter() - t) * 1000)
"""
CLIENT = (
    "import time; t = time.perf_counter(); import awslambdaric.bootstrap; print((time.perf_counter() - t) * 1000)"
)
TRACED = """
import subprocess, sys
code = 'import sys; sys.path.insert(0, "/var/task"); import handler.main'
print(subprocess.run([sys.executable, "-X", "importtime", "-c", code], stderr=subprocess.PIPE, text=True).stderr)
"""
NAMED_MS = 20.0  # imports that take longer are named


@dataclass
class ColdStart:
    """Milliseconds, one entry per round; the image's files are in the page cache after the first round."""

    python: list[float] = field(default_factory=list)  # from exec to the first statement
    client: list[float] = field(default_factory=list)  # importing Lambda's runtime interface client
    torch: list[float] = field(default_factory=list)  # a bare `import torch`
    init: list[float] = field(default_factory=list)  # importing handler.main, which is init
    imports: list[float] = field(default_factory=list)
    load: list[float] = field(default_factory=list)
    warm_up: list[float] = field(default_factory=list)

    def measure(self, sandbox: Sandbox) -> None:
        """One round: each in a fresh container. Raises BadRequest."""
        self.torch.append(float(sandbox.python("-c", BARE)))
        line, spent = sandbox.python("-c", INIT).strip().splitlines()[-2:]
        said = json.loads(line)
        self.init.append(float(spent))
        self.imports.append(said["import_ms"])
        self.load.append(said["load_ms"])
        self.warm_up.append(said["warm_up_ms"])
        self.python.append(float(sandbox.python("-c", LAUNCH)) * 1000)
        self.client.append(float(sandbox.python("-c", CLIENT)))

    def ratio(self) -> float:
        """Init over a bare `import torch`, the median of the rounds."""
        return median(init / bare for init, bare in zip(self.init, self.torch, strict=True))


def slow_imports(sandbox: Sandbox) -> list[tuple[str, float]]:
    """(module, ms with all that it imports) over NAMED_MS, of what `handler` imports itself; slowest first.

    Tracing makes each import slower, so these are shares rather than times. Raises BadRequest.
    """
    return imported_by("handler", sandbox.python("-c", TRACED))


def imported_by(package: str, report: str) -> list[tuple[str, float]]:
    """Of a report of -X importtime: lines come after those of what they imported, which are indented deeper."""
    rows = [row for line in report.splitlines() if (row := _row(line))]
    found = {}
    for place, (depth, name, spent) in enumerate(rows):
        importer = next((other for deeper, other, _ in rows[place + 1 :] if deeper < depth), "")
        ours, theirs = name.split(".")[0] == package, importer.split(".")[0] == package
        if theirs and not ours and spent >= NAMED_MS:
            found[name] = spent
    return sorted(found.items(), key=lambda item: -item[1])


def _row(line: str) -> tuple[int, str, float] | None:
    """(depth, module, cumulative ms) of `import time:  self |  cumulative |   name`."""
    try:
        _, cumulative, name = line.removeprefix("import time:").split("|")
        return len(name) - len(name.lstrip()), name.strip(), int(cumulative) / 1000
    except ValueError:  # the heading, and whatever else is on stderr
        return None
