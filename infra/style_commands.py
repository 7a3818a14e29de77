"""What styles, pull and freeze do, on the terms of commands.py."""

from __future__ import annotations

import json
import textwrap
from argparse import Namespace
from dataclasses import asdict

from infra import progress, styles
from infra.errors import BadRequest
from infra.text import shown
from layers.model.detector import Detector, load_detectors, pull_detector
from layers.model.registry import BUILTIN


def list_styles(args: Namespace) -> int:
    known = styles.listed(styles.styles_dir())
    if args.json:
        print(json.dumps([asdict(style) for style in known], indent=2))
        return 0
    for style in known:
        print(f"{style.name} ({style.title}) – {style.state}")
        _print_indented(style.description, f"Licence: {style.licence}")
    for detector in load_detectors().values():
        there = "installed" if detector.installed(styles.styles_dir()) else f"animegan pull {detector.name}"
        print(f"{detector.name} ({detector.title}) – no style, published: {there}")
        _print_indented(detector.description, f"Licence: {detector.licence.strip()}")
    return 0


def _print_indented(*texts: str) -> None:
    for text in filter(None, texts):
        print(textwrap.fill(text, 100, initial_indent="    ", subsequent_indent="    "))


def pull(args: Namespace) -> int:
    if args.name in (detectors := load_detectors()):
        return _pull_detector(args, detectors[args.name])
    from layers.model.pull import pull as fetch

    folder = styles.styles_dir()
    with progress.bar(args.name, in_bytes=True) as (say, advance):
        manifest = fetch(args.name, folder, announce=say, progress=advance, url=args.url)
    progress.plain(f"animegan: {manifest.style} is in {shown(folder / manifest.style)}")
    if args.json:
        print(json.dumps(asdict(manifest), indent=2))
    return 0


def _pull_detector(args: Namespace, detector: Detector) -> int:
    with progress.bar(args.name, in_bytes=True) as (say, advance):
        path = pull_detector(detector, styles.styles_dir(), announce=say, progress=advance, url=args.url)
    progress.plain(f"animegan: {detector.name} is {shown(path)}")
    if args.json:
        print(json.dumps(asdict(detector), indent=2))
    return 0


def freeze(args: Namespace) -> int:
    if args.style == BUILTIN and not args.out:
        raise BadRequest(f"{BUILTIN} is the built-in style: give yours another name, or another folder with --out")
    from layers.model.freeze import freeze as run

    folder = args.out or styles.styles_dir()
    manifest = run(
        args.checkpoint,
        args.style,
        folder,
        licence=args.licence,
        source=args.source or args.checkpoint.name,
        align_corners=args.align_corners,
        title=args.title,
        face_size=args.face_size,
    )
    progress.plain(f"animegan: {manifest.style} is in {shown(folder / manifest.style)}")
    if args.json:
        print(json.dumps(asdict(manifest), indent=2))
    return 0
