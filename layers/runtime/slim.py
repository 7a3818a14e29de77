"""Takes out of installed packages what a conversion never touches: unused.txt, and symbol tables.

Run as `python3 slim.py FOLDER`. The standard library suffices, since the build stage has nothing else.
"""

from __future__ import annotations

import shutil
import struct
import sys
from pathlib import Path

UNUSED = Path(__file__).with_name("unused.txt")
ELF = b"\x7fELF\x02\x01"  # 64 bits, little-endian
PT_LOAD = 1


def slim(packages: Path) -> None:
    """Raises ValueError where a pattern finds nothing, OSError."""
    lines = [line for line in UNUSED.read_text().splitlines() if line and not line.startswith("#")]
    kept = {path for line in lines if line.startswith("!") for path in matching(packages, line[1:])}
    doomed = {path for line in lines if not line.startswith("!") for path in matching(packages, line)} - kept
    for path in doomed:
        if doomed.isdisjoint(path.parents):  # else it goes with its folder
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for library in packages.glob("**/*.so*"):
        cut_symbols(library)


def matching(packages: Path, pattern: str) -> list[Path]:
    """With a slash at its end, a pattern means folders alone (before Python 3.12, pathlib forgets that)."""
    found = [path for path in packages.glob(pattern) if path.is_dir() or not pattern.endswith("/")]
    if not found:
        raise ValueError(f"{pattern} of {UNUSED.name} is not in {packages}: the list is out of date")
    return found


def cut_symbols(library: Path) -> None:
    """Cut off all behind the last loaded segment: the static symbol table (91 MB of libtorch_cpu.so) and its like.

    As `strip` does, which the base image lacks. The section headers go too; only linkers and debuggers read them.
    Offsets are those of Elf64_Ehdr and Elf64_Phdr, elf(5).
    """
    with library.open("r+b") as file:
        header = file.read(64)
        if not header.startswith(ELF):
            return
        (table,) = struct.unpack_from("<Q", header, 32)  # e_phoff
        size, count = struct.unpack_from("<HH", header, 54)  # e_phentsize, e_phnum
        file.seek(table)
        entries = [file.read(size) for _ in range(count)]
        loaded = [struct.unpack_from("<8xQ16xQ", e) for e in entries if struct.unpack_from("<I", e)[0] == PT_LOAD]
        file.seek(40)
        file.write(struct.pack("<Q", 0))  # e_shoff
        file.seek(58)
        file.write(struct.pack("<HHH", 0, 0, 0))  # e_shentsize, e_shnum, e_shstrndx
        file.truncate(max(offset + length for offset, length in loaded))  # p_offset, p_filesz


if __name__ == "__main__":
    slim(Path(sys.argv[1]))
