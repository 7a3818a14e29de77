"""What `animegan bench …` does, on the terms of infra/commands.py."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from argparse import Namespace
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path

from infra import progress
from infra.allocators import tcmalloc
from infra.bench import image as images
from infra.bench import machine, report, verdicts
from infra.bench.coldstart import slow_imports
from infra.bench.container import Sandbox, Size

PHOTO = Path(__file__).parents[2] / "docs/images/photo.jpg"


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


def engine(args: Namespace) -> int:
    """0 when everything was measured. Raises BadRequest, NotInstalled."""
    import numpy as np

    from handler import cpu
    from infra.bench import engine as comparison
    from infra.bench import engine_report, engines, ladder, outside

    names = [
        name
        for name in comparison.available(cpu.best_precision("auto") == "bfloat16")
        if not args.only or name == engines.REFERENCE or any(text in name for text in args.only)
    ]
    threads = args.threads or math.ceil(cpu.vcpus())
    if not tcmalloc():
        print(
            "animegan: no tcmalloc here (make wheelhouse fetches it): ours runs with the system's malloc",
            file=sys.stderr,
        )
    with tempfile.TemporaryDirectory(prefix="animegan-bench-") as folder:
        inputs = Path(folder)
        engines.prepare(inputs, comparison.CHECKPOINT, args.size, bool({*names} & engines.NEEDS.keys()))
        np.save(inputs / "photos.npy", comparison.photos(args.photos or [PHOTO], args.size))
        measured = comparison.compare(names, inputs, threads, args.rounds, args.times)
        photos = ladder.photos(args.photos or [PHOTO])
        surrounding = outside.compare(inputs, photos, args.size, threads, args.rounds * args.times)
    found = engine_report.Engines(machine.described(), args.size, threads, measured, surrounding)
    if args.plot:
        found.plot(args.plot)
    print(json.dumps(asdict(found), indent=2) if args.json else found.as_text())
    return 0


def overhead(args: Namespace) -> int:
    """1 if recorder and log line cost more than they may. Raises BadRequest, and what init raises."""
    from handler.convert import ConversionRequest
    from infra.bench import overhead_report
    from infra.bench.made_up import jpeg
    from infra.bench.overhead import Overheads
    from infra.bench.pipeline import pipeline

    converter = pipeline(max_side=args.side)
    said = {**machine.described(), "threads": str(converter.log.threads)}
    photo = jpeg(args.side, args.side)
    overheads = Overheads(converter, ConversionRequest(photo, converter.settings.style, format="jpeg"))
    with progress.bar("converting") as (_, advance), Path(os.devnull).open("w") as log, redirect_stdout(log):
        found = overheads.measure(args.side, args.pairs, lambda done: advance(done, args.pairs))
    return verdicts.tell(overhead_report.Report(said, found), args.json)
