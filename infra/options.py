"""The command line's options; what they do is in commands.py."""

from __future__ import annotations

import argparse
from pathlib import Path

from handler import __version__
from infra import commands, convert_command, s3_options, style_commands
from infra.arguments import MEMORY_MB, Adder, new, picture_format, seconds, whole
from infra.bench import options as bench_options
from infra.diagnose import options as diagnose_options
from infra.doctor import command as doctor
from infra.report import options as report_options
from infra.video import options as video_options


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(prog="animegan", description="Photos in, anime pictures out.")
    top.add_argument("--version", action="version", version=f"animegan {__version__}")
    adder = top.add_subparsers(metavar="COMMAND", dest="command", required=True)
    elsewhere = (s3_options.add, report_options.add, diagnose_options.add, bench_options.add, doctor.add)
    for add in (_convert, video_options.add, _invoke, _serve, _styles, _pull, _freeze, *elsewhere):
        add(adder)
    return top


def _convert(adder: Adder) -> None:
    command = new(
        adder,
        "convert",
        convert_command.convert,
        "convert photos and folders of photos",
        "print one JSON object per photo, one a line, on stdout",
    )
    add = command.add_argument
    add("photos", nargs="+", type=Path, metavar="PHOTO", help="a file, or a folder to search through")
    add(
        "-o",
        "--out",
        type=Path,
        metavar="DIR",
        help="write DIR/NAME.EXT, subfolders kept; without it NAME.anime.EXT beside each photo",
    )
    add("--force", action="store_true", help="replace pictures that are there already, which are else skipped")
    add("--watch", action="store_true", help="go on: convert photos as they land in the folders, until Ctrl-C")
    add("--style", metavar="NAME", help="see `animegan styles`; default: STYLE, or cel")
    add(
        "--size",
        type=whole(1),
        metavar="PIXELS",
        help="long side of the picture (default: the photo's, up to 1024)",
    )
    add("--format", type=picture_format, choices=("png", "jpeg", "webp"), help="default: the photo's own, or png")
    add("--quality", type=whole(1, 100), metavar="1-100", help="of a JPEG or WebP picture (default 92)")
    add("--face", action="store_true", help="paint faces apart; needs `animegan pull yunet` once")
    add("--side-by-side", action="store_true", help="photo left, picture right")
    add("--upscale", action="store_true", help="let --size be larger than the photo")
    add = command.add_mutually_exclusive_group().add_argument
    add("--log", type=Path, metavar="FILE", help="append the function's log lines to FILE")
    add("--verbose", action="store_true", help="the function's log lines on stderr")


def _invoke(adder: Adder) -> None:
    command = new(adder, "invoke", commands.invoke, "call the function with events, as Lambda does")
    add = command.add_argument
    add("events", nargs="+", metavar="EVENT", help="a JSON file, - for stdin; see infra/events")
    add("--timeout", type=seconds, default=29.0, metavar="SECONDS", help="default 29, as API Gateway has it")
    add("--memory", type=whole(*MEMORY_MB), default=1769, metavar="MB", help="default 1769, one vCPU")
    add("--out", type=Path, metavar="FILE", help="save the picture of the answer")
    add("--s3", type=Path, metavar="DIR", help="for S3 events: DIR's subfolders as buckets, pictures written back")
    add("--repeat", type=whole(1), default=1, metavar="N", help="call with each of the events N times")
    add("--no-limits", dest="limits", action="store_false", help="take requests and responses over 6 MB")


def _serve(adder: Adder) -> None:
    command = new(adder, "serve", commands.serve, "serve the HTTP routes on this machine")
    command.add_argument("--host", default="127.0.0.1", help="default 127.0.0.1, this machine alone")
    command.add_argument("--port", type=whole(0, 65535), default=8000, help="default 8000; 0 takes a free one")


def _styles(adder: Adder) -> None:
    new(adder, "styles", style_commands.list_styles, "list the styles and their licences", "as a JSON array")


def _pull(adder: Adder) -> None:
    command = new(
        adder,
        "pull",
        style_commands.pull,
        "download a published style, or yunet for --face; show its licence",
        "print its manifest",
    )
    command.add_argument("name", metavar="NAME", help="see `animegan styles`")
    command.add_argument("--url", help="a mirror; the file must be the same")


def _freeze(adder: Adder) -> None:
    command = new(
        adder,
        "freeze",
        style_commands.freeze,
        "make a style of an AnimeGANv2 PyTorch checkpoint",
        "print its manifest",
    )
    add = command.add_argument
    add("checkpoint", type=Path, metavar="CHECKPOINT")
    add("--style", required=True, metavar="NAME", help="what to call it")
    add("--title", help="for people; default: the name")
    add("--licence", default="Not stated. Ask whoever made the weights.", help="of the weights")
    add("--source", help="where they are from; default: the file's name")
    add("--no-align-corners", dest="align_corners", action="store_false", help="upsample as its training did")
    add("--face-size", type=whole(64, 1024), default=512, metavar="PIXELS", help="best for faces; default 512")
    add("--out", type=Path, metavar="DIR", help="default: the folder of styles (STYLES_DIR)")
