"""One execution environment of the emulator as a process: an event a line on stdin, an answer a line on stdout.

The function's log is on stderr, as `animegan invoke` has it. It ends when stdin does.
"""

from __future__ import annotations

import json
import sys

from infra.emulator import Emulator, lambda_environment, load_handler
from infra.faults.leak import Leak, leaking
from infra.invocations import failed


def main(memory_mb: int, leak_mib: float) -> None:
    """Answers are `true` where the function did as it was told."""
    lambda_environment(memory_mb)
    emulator = Emulator(lambda: leaking(load_handler(), Leak(leak_mib)), memory_mb=memory_mb)
    for line in sys.stdin:
        print(json.dumps(not failed(emulator.invoke(json.loads(line)))), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
