"""What `animegan bench …` does, on the terms of infra/commands.py."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict

from infra.bench import image as images
from infra.bench import machine, report
from infra.bench.coldstart import slow_imports
from infra.bench.container import Sandbox, Size


def image(args: Namespace) -> int:
    """0 when everything was measured. Raises NotInstalled, BadRequest."""
    sizes = [Size.of(memory) for memory in args.memory]
    sandbox = Sandbox(args.image, sizes[0])
    named = images.variants(args.image, sizes, args.variants)
    found = report.Image(
        machine=machine.described(),
        inside=report.inside(sandbox),
        side=args.side,
        sizes=images.Sizes.of(args.image),
        cold=images.cold_starts(named, args.rounds),
        imports=slow_imports(sandbox),
        warm=images.conversions(named, args.side, args.rounds, args.times),
    )
    print(json.dumps(asdict(found), indent=2) if args.json else found.as_text())
    return 0
