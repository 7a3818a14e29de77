"""`animegan convert --watch`: folders are looked at again and again, and photos converted once they are whole.

Looking, rather than being told by the system, works everywhere, on network shares too; and whether a file is whole
no system tells. It is taken for whole when size and time have stayed the same for a while. If that was too soon,
as where a slow copy pauses, the conversion fails, the file changes once more, and it is converted then.
"""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra import interrupts
from infra.batch import Batch
from infra.errors import BadRequest
from infra.outcome import Outcome
from infra.photos import Found, Photo, check_apart, files, head, why_left
from infra.text import shown

LOOK_EVERY_S = 1.0
SETTLED_S = 2.0  # a copy over a network pauses for less

Say = Callable[[str], None]
Stamp = tuple[int, int, int]  # size, time of change in ns, inode: another file by rename, too


@dataclass(slots=True)
class Seen:
    """A file's stamp, and since when it has had it."""

    stamp: Stamp
    since: float


class Watch:
    """What lands in folders. Files may be named, too."""

    def __init__(
        self,
        paths: Sequence[Path],
        out: Path | None,
        say: Say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises BadRequest where there is nothing to watch, or photos and pictures would share a folder."""
        if missing := next((path for path in paths if not path.exists()), None):
            raise BadRequest(f"{shown(missing)} is not there: make the folder first, then watch it")
        check_apart(paths, out)
        self._paths, self._out, self._say, self._clock = paths, out, say, clock
        self._seen: dict[Path, Seen] = {}
        self._given: dict[Path, Stamp] = {}  # those that are gone too: what comes back with another stamp is new
        self._lost: set[Path] = set()
        self._bad: set[tuple[Path, str]] = set()
        self.photos: dict[Path, Photo] = {}  # all that have landed and are still there
        self.changed: set[Path] = set()  # those that had landed before

    def look(self) -> list[Photo]:
        """Photos that have become whole since the last look, in order."""
        before, self._seen = self._seen, {}
        landed: list[Photo] = []
        for root, path in self._files():
            if (stamp := _stamp(path)) is None or path in self._seen:
                continue
            seen = self._seen[path] = _still(before.get(path), stamp, self._clock())
            if self._given.get(path) != stamp and self._clock() - seen.since >= SETTLED_S:
                landed += self._landed(path, root, stamp)
        self.photos = {path: photo for path, photo in self.photos.items() if path in self._seen}
        return landed

    def _landed(self, path: Path, root: Path, stamp: Stamp) -> list[Photo]:
        if path in self._given:
            self.changed.add(path)
        self._given[path] = stamp
        if root != path and why_left(path):
            return []
        relative = path.relative_to(root) if root != path else Path(path.name)
        self.photos[path] = Photo(path, relative, head(path))
        return [self.photos[path]]

    def _files(self) -> Iterator[tuple[Path, Path]]:
        """(the path that was given, a file below it or itself)."""
        bad: list[tuple[Path, str]] = []
        for path in self._paths:
            if self._is_there(path):
                below = files(path, self._out, bad) if path.is_dir() else [path]
                yield from ((path, file) for file in below)
        for where, why in set(bad) - self._bad:
            self._say(f"{shown(where)}: {why}")
        self._bad = set(bad)

    def _is_there(self, path: Path) -> bool:
        there = os.path.lexists(path)
        if there == (path in self._lost):
            self._say(f"animegan: {shown(path)} is " + ("back" if there else "gone; waiting for it to come back"))
            self._lost ^= {path}
        return there


class Watching:
    """Outcomes without end, as photos land. Like a Batch, but that it knows only how many there are by now."""

    def __init__(
        self,
        watch: Watch,
        batch: Callable[[Found, Callable[[Photo, Path], bool]], Batch],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._watch, self._make, self._sleep = watch, batch, sleep
        self._waiting: deque[Photo] = deque()
        self._done = 0

    def __len__(self) -> int:
        return self._done + len(self._waiting)

    def __iter__(self) -> Iterator[Outcome]:
        """Raises what starting the function raises; ends with Ctrl-C."""
        batch = self._make(Found(), self._is_stale)
        while True:
            if landed := self._watch.look():
                self._waiting += landed
                # Names depend on all photos that there are: a.gif and a.png must not have the same.
                batch = self._make(Found(list(self._watch.photos.values())), self._is_stale).after(batch)
            if not self._waiting:
                with interrupts.anywhere():
                    self._sleep(LOOK_EVERY_S)
                continue
            photo = self._waiting.popleft()
            if photo.path in self._watch.photos:  # and has not gone while it was waiting
                outcome = batch.one(photo)
                self._done += 1
                yield outcome

    def _is_stale(self, photo: Photo, target: Path) -> bool:
        """Whether the picture is of an older photo: one that has changed meanwhile, or before the watch began."""
        try:
            older = target.stat().st_mtime_ns < photo.path.stat().st_mtime_ns
        except OSError:
            return False
        return older or photo.path in self._watch.changed


def _still(before: Seen | None, stamp: Stamp, now: float) -> Seen:
    return before if before and before.stamp == stamp else Seen(stamp, now)


def _stamp(path: Path) -> Stamp | None:
    """None for what is no photo yet: gone again, no regular file, or without a byte."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    is_one = stat.S_ISREG(found.st_mode) and found.st_size > 0
    return (found.st_size, found.st_mtime_ns, found.st_ino) if is_one else None
