"""`animegan pull` against a real HTTP server: whole, resumed, cut, changed, corrupt and oversized."""

from __future__ import annotations

import hashlib
import random
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from layers.model import fetch
from layers.model.errors import (
    CheckpointError,
    CorruptDownload,
    Interrupted,
    NoConnection,
    ServerRefused,
    TooLarge,
    UnknownStyleName,
)
from layers.model.manifest import Manifest
from layers.model.pull import blob_id, download, pull
from layers.model.registry import Style
from tests.factories import checkpoint
from tests.layers.hosting import Host, hosting

CONTENT = random.Random(1).randbytes(300_001)  # over four chunks, and not a whole number of them
OTHER = random.Random(2).randbytes(300_001)
CUT = 130_000


def git_blob_id(content: bytes) -> str:
    command = ["git", "hash-object", "--stdin", "--no-filters"]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout.decode().strip()


def style(url: str, blob: str) -> Style:
    return Style("x", "X", "", "Ask the author.\n", "https://example.org/x", True, None, url, blob)


@pytest.fixture
def host() -> Iterator[Host]:
    with hosting() as host:
        host.content = CONTENT
        yield host


@pytest.fixture(scope="session")
def content_id() -> str:
    return git_blob_id(CONTENT)


@pytest.fixture
def wanted(host: Host, content_id: str) -> Style:
    """The style whose checkpoint is CONTENT."""
    return style(host.url, content_id)


@pytest.fixture
def interrupted(host: Host, wanted: Style, tmp_path: Path) -> Path:
    """The directory of a download that was cut after CUT bytes."""
    host.cut_after = CUT
    with pytest.raises(Interrupted, match=r"closed after 130,000 of 300,001 bytes: pull again to resume"):
        download(wanted, tmp_path)
    assert (tmp_path / "x.pt.part").read_bytes() == CONTENT[:CUT]
    assert not (tmp_path / "x.pt").exists()
    host.cut_after = None
    host.requests.clear()
    return tmp_path


def left(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\r\n\0", CONTENT], ids=["empty", "text", "binary", "long"])
def test_a_blob_id_is_what_git_and_the_formula_say(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert blob_id(tmp_path / "file") == git_blob_id(content)
    assert blob_id(tmp_path / "file") == hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def test_a_whole_download_is_the_file_and_leaves_nothing_else(host: Host, wanted: Style, tmp_path: Path) -> None:
    assert download(wanted, tmp_path / "made") == tmp_path / "made" / "x.pt"
    assert (tmp_path / "made" / "x.pt").read_bytes() == CONTENT
    assert left(tmp_path / "made") == ["x.pt"]
    assert len(host.requests) == 1
    assert "Range" not in host.requests[0]


def test_progress_never_goes_back_and_ends_at_the_total(wanted: Style, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    download(wanted, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {len(CONTENT)}
    assert seen[0][0] == 0
    assert seen[-1][0] == len(CONTENT)
    assert len(seen) > 4


def test_a_file_of_unknown_length_arrives_with_a_progress_without_total(
    host: Host, wanted: Style, tmp_path: Path
) -> None:
    host.tells_length = False
    seen: list[tuple[int, int | None]] = []
    download(wanted, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(CONTENT), None)


def test_a_file_that_is_there_is_not_fetched_again(host: Host, wanted: Style, tmp_path: Path) -> None:
    download(wanted, tmp_path)
    download(wanted, tmp_path)
    assert len(host.requests) == 1


def test_a_file_that_was_damaged_since_is_fetched_again(host: Host, wanted: Style, tmp_path: Path) -> None:
    download(wanted, tmp_path)
    (tmp_path / "x.pt").write_bytes(CONTENT[:-1])
    download(wanted, tmp_path)
    assert (tmp_path / "x.pt").read_bytes() == CONTENT
    assert len(host.requests) == 2


def test_a_cut_download_resumes_at_the_byte_where_it_stopped(host: Host, wanted: Style, interrupted: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    download(wanted, interrupted, progress=lambda done, total: seen.append((done, total)))
    assert (interrupted / "x.pt").read_bytes() == CONTENT
    assert [(sent["Range"], sent["If-Range"]) for sent in host.requests] == [("bytes=130000-", '"one"')]
    assert seen[0] == (CUT, len(CONTENT))
    assert seen == sorted(seen)
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert left(interrupted) == ["x.pt"]


def test_a_download_that_is_cut_again_and_again_still_arrives(
    host: Host, wanted: Style, interrupted: Path
) -> None:
    host.cut_after = 90_000
    with pytest.raises(Interrupted, match="closed after 220,000 of 300,001"):
        download(wanted, interrupted)
    download(wanted, interrupted)
    assert (interrupted / "x.pt").read_bytes() == CONTENT
    assert [sent["Range"] for sent in host.requests] == ["bytes=130000-", "bytes=220000-"]


def test_a_server_that_ignores_range_sends_it_all_and_it_is_not_appended(
    host: Host, wanted: Style, interrupted: Path
) -> None:
    host.ranges = False
    download(wanted, interrupted)
    assert (interrupted / "x.pt").read_bytes() == CONTENT
    assert host.requests[0]["Range"] == "bytes=130000-"
    assert len(host.requests) == 1


def test_a_file_that_changed_meanwhile_is_fetched_from_its_start(host: Host, interrupted: Path) -> None:
    host.content, host.etag = OTHER, '"two"'
    download(style(host.url, git_blob_id(OTHER)), interrupted)
    assert (interrupted / "x.pt").read_bytes() == OTHER
    assert len(host.requests) == 1


def test_a_changed_file_appended_by_a_careless_server_is_corrupt_and_the_next_pull_is_whole(
    host: Host, interrupted: Path
) -> None:
    host.content, host.etag, host.if_range = OTHER, '"two"', False
    changed = style(host.url, git_blob_id(OTHER))
    with pytest.raises(CorruptDownload):
        download(changed, interrupted)
    assert left(interrupted) == []
    download(changed, interrupted)
    assert (interrupted / "x.pt").read_bytes() == OTHER


@pytest.mark.parametrize("etag", [None, 'W/"weak"'])
def test_without_a_strong_etag_a_download_resumes_without_if_range(
    etag: str | None, host: Host, wanted: Style, tmp_path: Path
) -> None:
    host.etag, host.cut_after = etag, CUT
    with pytest.raises(Interrupted):
        download(wanted, tmp_path)
    host.cut_after = None
    download(wanted, tmp_path)
    assert host.requests[-1]["Range"] == "bytes=130000-"
    assert "If-Range" not in host.requests[-1]


def test_corrupt_bytes_are_removed_and_both_blob_ids_named(host: Host, wanted: Style, tmp_path: Path) -> None:
    host.content = CONTENT[:1000] + b"?" + CONTENT[1001:]
    with pytest.raises(CorruptDownload) as caught:
        download(wanted, tmp_path)
    assert f"300,001 bytes that came have git blob id {git_blob_id(host.content)}, not {wanted.blob_id}" in str(
        caught.value
    )
    assert "Pull again" in str(caught.value)
    assert left(tmp_path) == []
    host.content = CONTENT
    download(wanted, tmp_path)
    assert (tmp_path / "x.pt").read_bytes() == CONTENT


def test_a_part_as_long_as_the_file_but_not_it_is_thrown_away(host: Host, wanted: Style, tmp_path: Path) -> None:
    for part in (OTHER, OTHER + b"more"):
        (tmp_path / "x.pt.part").write_bytes(part)
        (tmp_path / "x.pt").unlink(missing_ok=True)
        host.requests.clear()
        download(wanted, tmp_path)
        assert (tmp_path / "x.pt").read_bytes() == CONTENT
        assert [sent.get("Range") for sent in host.requests] == [f"bytes={len(part)}-", None]


def test_a_part_that_is_complete_needs_no_server(wanted: Style, tmp_path: Path) -> None:
    (tmp_path / "x.pt.part").write_bytes(CONTENT)
    download(wanted, tmp_path, url="http://127.0.0.1:1/none")
    assert left(tmp_path) == ["x.pt"]


def test_another_range_than_was_asked_for_is_not_appended(host: Host, wanted: Style, interrupted: Path) -> None:
    host.range_start = 7
    with pytest.raises(ServerRefused, match="answers with a part that nobody asked for"):
        download(wanted, interrupted)
    assert [sent.get("Range") for sent in host.requests] == ["bytes=130000-", None]
    host.range_start = None
    download(wanted, interrupted)
    assert (interrupted / "x.pt").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("status", "message"),
    [(404, "404 Not Found"), (403, "403 Forbidden"), (500, "500 Internal"), (416, "416"), (204, "204 without")],
)
def test_an_answer_without_the_file_is_named_and_keeps_what_came(
    status: int, message: str, host: Host, wanted: Style, interrupted: Path
) -> None:
    host.status = status
    with pytest.raises(ServerRefused, match=rf"{host.url} answered {message}"):
        download(wanted, interrupted)
    host.status = None
    download(wanted, interrupted)
    assert (interrupted / "x.pt").read_bytes() == CONTENT
    assert host.requests[-1].get("Range") == (None if status == 416 else "bytes=130000-")


def test_more_bytes_than_any_checkpoint_has_are_refused_from_their_length(
    host: Host, wanted: Style, tmp_path: Path
) -> None:
    host.length = fetch.MAX_BYTES + 1
    with pytest.raises(TooLarge, match="serves over 67,108,864 bytes"):
        download(wanted, tmp_path)
    assert left(tmp_path) == []


def test_more_bytes_than_any_checkpoint_has_are_refused_while_they_come(
    host: Host, wanted: Style, tmp_path: Path
) -> None:
    host.tells_length, host.repeat = False, 1 + fetch.MAX_BYTES // len(CONTENT)
    with pytest.raises(TooLarge, match="serves over 67,108,864 bytes"):
        download(wanted, tmp_path)
    assert left(tmp_path) == []


def test_a_length_that_is_too_long_is_an_interruption(host: Host, wanted: Style, tmp_path: Path) -> None:
    host.length = len(CONTENT) + 5
    with pytest.raises(Interrupted, match="after 300,001 of 300,006"):
        download(wanted, tmp_path)
    download(wanted, tmp_path)  # what came is the file
    assert (tmp_path / "x.pt").read_bytes() == CONTENT
    assert len(host.requests) == 1


def test_a_length_that_is_too_short_is_corrupt(host: Host, wanted: Style, tmp_path: Path) -> None:
    host.length = len(CONTENT) - 5
    with pytest.raises(CorruptDownload, match="the 299,996 bytes that came"):
        download(wanted, tmp_path)
    assert left(tmp_path) == []


def test_a_server_that_never_answers_cannot_be_reached(
    wanted: Style, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "TIMEOUT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x.pt"
        with pytest.raises(NoConnection, match="timed out"):
            download(wanted, tmp_path, url=url)


def test_a_server_that_falls_silent_part_way_is_an_interruption(
    host: Host, wanted: Style, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "TIMEOUT_S", 0.2)
    host.cut_after = 2 * fetch.CHUNK_BYTES
    host.hangs_up.clear()
    with pytest.raises(Interrupted, match=r"the connection broke \(.*timed out.*\): pull again to resume"):
        download(wanted, tmp_path)
    host.cut_after = None
    host.hangs_up.set()
    download(wanted, tmp_path)
    assert (tmp_path / "x.pt").read_bytes() == CONTENT
    assert host.requests[-1]["Range"].startswith("bytes=")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/x.pt", "http://nowhere.invalid/x.pt", "http://[/x.pt", "http://a b/"]
)
def test_a_host_that_cannot_be_reached_is_named(url: str, wanted: Style, tmp_path: Path) -> None:
    with pytest.raises(NoConnection, match=r"cannot be reached .*check network, proxy and url"):
        download(wanted, tmp_path, url=url)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/x.pt", "x.pt", "data:,x"])
def test_only_web_addresses_are_fetched(url: str, wanted: Style, tmp_path: Path) -> None:
    with pytest.raises(NoConnection, match="is no http or https address"):
        download(wanted, tmp_path, url=url)


def test_pull_shows_the_licence_and_installs_the_style(host: Host, tmp_path: Path) -> None:
    host.content = checkpoint(tmp_path / "source.pt").read_bytes()
    registry = {"x": style("http://127.0.0.1:1/", git_blob_id(host.content))}
    styles_dir, said = tmp_path / "styles", list[str]()

    def announce(text: str) -> None:
        assert not (styles_dir / "x").exists()
        said.append(text)

    manifest = pull("x", styles_dir, announce=announce, url=host.url, registry=registry)
    assert said == ["X (x), https://example.org/x\nAsk the author."]
    assert manifest == Manifest.read(styles_dir / "x")
    assert manifest.checkpoint_sha256 == hashlib.sha256(host.content).hexdigest()
    assert manifest.licence == "Ask the author."
    assert manifest.source == "http://127.0.0.1:1/"
    pull("x", styles_dir, announce=said.append, url=host.url, registry=registry)
    assert len(host.requests) == 1


def test_a_pulled_file_that_is_no_checkpoint_installs_nothing(host: Host, wanted: Style, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a PyTorch checkpoint"):
        pull("x", tmp_path, announce=lambda _: None, registry={"x": wanted})
    assert left(tmp_path) == [".checkpoints"]


def test_a_name_that_no_style_has_is_not_asked_for(host: Host, wanted: Style, tmp_path: Path) -> None:
    with pytest.raises(UnknownStyleName, match="Known styles: x"):
        pull("../x", tmp_path, announce=lambda _: None, registry={"x": wanted})
    assert left(tmp_path) == []
    assert not host.requests
