"""Dependencies point one way; this reads the imports and fails on a back edge."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Lowest first: a module may import from its own line's left and from the lines above.
ORDER = [
    ["text"],
    ["errors"],
    ["counters", "turns", "cgroup"],
    ["settings", "stages", "slots", "events", "objects", "deadline", "cpu", "tiff", "heif", "icc", "alpha"],
    ["operators"],
    ["notifications", "storage_errors", "limits"],
    ["storage"],
    ["deliveries", "jobs"],
    ["envelopes"],
    ["exif", "headers", "resampling"],
    ["probe", "raw"],
    ["jpeg", "bmp"],
    ["decoders"],
    ["image", "generator", "metrics", "face_frames"],
    ["face_blend", "face_detector"],
    ["accept", "convert", "naming", "lines"],
    ["bodies", "answers", "cache"],
    ["faces"],
    ["converter", "wishes"],
    ["plan"],
    ["pictures", "upload_status"],
    ["transfer", "uploads"],
    ["reports"],
    ["schemas", "page", "docs_shapes"],
    ["openapi", "docs"],
    ["api", "s3"],
    ["function"],
    ["main"],
]


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_the_handler_imports_nothing_from_layers_infra_or_tests() -> None:
    for path in (ROOT / "handler").rglob("*.py"):
        assert not {name.partition(".")[0] for name in imports(path)} & {"layers", "infra", "tests"}, path


def test_layers_import_nothing_from_handler_infra_or_tests() -> None:
    for path in (ROOT / "layers").rglob("*.py"):
        assert not {name.partition(".")[0] for name in imports(path)} & {"handler", "infra", "tests"}, path


def test_inside_the_handler_nothing_imports_upwards() -> None:
    level = {name: height for height, names in enumerate(ORDER) for name in names}
    modules = {path.stem: path for path in (ROOT / "handler").glob("*.py") if path.stem != "__init__"}
    assert modules.keys() <= level.keys(), "give the new module its place in ORDER"
    for name, path in modules.items():
        for target in imports(path):
            package, _, other = target.partition(".")
            if package == "handler" and (other := other.partition(".")[0]) in level:
                assert level[other] < level[name], f"{name} imports {other}"


def test_the_python_image_library_is_never_imported_at_run_time() -> None:
    for path in (ROOT / "handler").rglob("*.py"):
        assert "PIL" not in {name.partition(".")[0] for name in imports(path)}, path
