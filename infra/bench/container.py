"""The function's image under Docker, with Lambda's limits: memory, CPU time, read-only, another user, no /dev/shm.

One call at a time: the emulator crashes where Lambda would start another environment. The `docker` command is
called, not its API: it is what the README asks for, and people can repeat what they see.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from infra.errors import BadRequest, NotInstalled

MB_PER_VCPU = 1769  # AWS Lambda's documentation, "Configure Lambda function memory"
USER = "993:990"  # who Lambda's sandbox runs as; any that owns nothing would do
# The runtime interface emulator listens inside the container, so no network is needed to call it.
CALL = """
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=float(sys.argv[1]))
connection.request("POST", "/2015-03-31/functions/function/invocations", sys.stdin.buffer.read())
sys.stdout.buffer.write(connection.getresponse().read())
"""


@dataclass(frozen=True, slots=True)
class Size:
    """Of a Lambda function."""

    memory_mb: int
    cpus: float

    @classmethod
    def of(cls, memory_mb: int) -> Size:
        """With the CPU time that Lambda gives for it, to a hundredth."""
        return cls(memory_mb, round(memory_mb / MB_PER_VCPU, 2))

    def __str__(self) -> str:
        return f"{self.memory_mb:,} MB, {self.cpus:g} vCPU"


SMALL, MEDIUM = Size.of(1769), Size.of(3008)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How a container of an image is run."""

    image: str
    size: Size = SMALL
    network: str = "none"
    environment: Mapping[str, str] = field(default_factory=dict)

    def options(self) -> list[str]:
        """For `docker run`."""
        memory = f"{self.size.memory_mb}m"
        said = {"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self.size.memory_mb), **self.environment}
        limits = ["--memory", memory, "--memory-swap", memory, "--cpus", str(self.size.cpus)]
        walls = ["--read-only", "--tmpfs", "/tmp:rw,size=512m", "--user", USER, "--ipc", "none"]
        variables = [part for name, value in said.items() for part in ("--env", f"{name}={value}")]
        return [*limits, *walls, "--network", self.network, *variables]

    def python(self, *arguments: str) -> str:
        """stdout of `python3 …` in a container of its own. Raises BadRequest where it fails."""
        return docker("run", "--rm", *self.options(), "--entrypoint", "python3", self.image, *arguments)

    @contextmanager
    def running(self) -> Iterator[Running]:
        """The function under the runtime interface emulator; init comes with the first invocation."""
        id = docker("run", "--detach", *self.options(), self.image).strip()
        try:
            yield Running(id)
        finally:
            docker("rm", "--force", id)


@dataclass(frozen=True, slots=True)
class Running:
    """A container whose function can be invoked."""

    id: str

    def invoke(self, event: Any, timeout_s: float = 60) -> Any:
        """The answer to an event. Raises BadRequest where there is none."""
        call = ("exec", "--interactive", "--env", "LD_PRELOAD=", self.id, "python3", "-c", CALL, str(timeout_s))
        return json.loads(docker(*call, given=json.dumps(event)))

    def log(self) -> list[str]:
        """The lines so far, stdout's and stderr's."""
        done = subprocess.run(["docker", "logs", self.id], stdout=-1, stderr=-2, text=True, check=True)
        return done.stdout.splitlines()

    def log_lines(self, event: str) -> list[dict[str, Any]]:
        """Ours, of one kind: `init`, `conversion`, `skipped`."""
        found = [json.loads(line) for line in self.log() if line.startswith("{") and line.endswith("}")]
        return [line for line in found if line.get("event") == event]


def docker(*arguments: str, given: str | None = None) -> str:
    """stdout of a docker command. Raises NotInstalled without one, BadRequest with what it said where it fails."""
    try:
        done = subprocess.run(["docker", *arguments], input=given, capture_output=True, text=True)
    except FileNotFoundError:
        raise NotInstalled("this needs docker, and an engine that runs") from None
    if done.returncode:
        raise BadRequest(f"docker {arguments[0]} failed: {_last_lines(done.stderr)}")
    return done.stdout


def _last_lines(text: str, count: int = 3) -> str:
    lines: Sequence[str] = text.strip().splitlines()
    return " / ".join(lines[-count:]) or "it does not say why"
