"""Every file in docs/examples does what its page says, against the real function; the page quotes the files."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import boto3
import httpx
import pytest
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils

from handler.function import Function
from handler.settings import Settings
from handler.storage import storage
from infra.emulator import Emulator
from tests import s3_events
from tests.infra.conftest import CLI, ROOT, Environment, picture, size
from tests.infra.test_backfill_map import convert as backfill_convert
from tests.s3_server import ENVIRONMENT, REGION, s3_server

EXAMPLES = ROOT / "docs" / "examples"
PAGE = ROOT / "docs" / "examples.md"
LANGUAGES = {"sh": ".sh", "python": ".py", "js": ".mjs", "html": ".html", "json": ".json"}
PHOTO = picture("jpg", 120, 80)
ALIAS = f"arn:aws:lambda:{REGION}:123456789012:function:animegan:live"


def needs(program: str) -> str:
    return shutil.which(program) or pytest.skip(f"{program} is not installed")


@pytest.fixture(scope="module")
def address(frozen_styles: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a real `animegan serve`."""
    kept = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "STYLES_DIR": str(frozen_styles)}
    with subprocess.Popen(
        [*CLI, "serve", "--port", "0"],
        env={**kept, "HOME": str(tmp_path_factory.mktemp("home")), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        started = (re.search(r"serving on (\S+) ", line) for line in process.stderr)
        found = next((match for match in started if match), None)
        assert found, "it did not start"
        Thread(target=process.stderr.read, daemon=True).start()
        yield found[1]
        process.kill()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "photo.jpg").write_bytes(PHOTO)
    (tmp_path / "torn.jpg").write_bytes(PHOTO[:200])
    return tmp_path


@pytest.fixture
def run(here: Path, environment: Environment, address: str) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A program with the examples' variables, in a folder with photos."""

    def call(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        given = {**environment, "ANIMEGAN_URL": address, **variables}
        return subprocess.run(command, cwd=here, env=given, capture_output=True, text=True, timeout=120)

    return call


def test_the_page_quotes_every_file_as_it_is() -> None:
    link, quote = r"\[`examples/([\w.]+)`\]\(examples/\1\)", r"```(\w+)\n(.*?)```\n"
    quoted = re.findall(rf"{link}\n\n{quote}", PAGE.read_text(), re.DOTALL)
    assert {name for name, _, _ in quoted} == {path.name for path in EXAMPLES.iterdir() if path.is_file()}
    for name, language, text in quoted:
        assert text == (EXAMPLES / name).read_text(), name
        assert LANGUAGES[language] == Path(name).suffix


def test_curl(run: Any, here: Path) -> None:
    needs("curl")
    done = run("sh", str(EXAMPLES / "curl.sh"))
    assert done.returncode == 0, done.stderr
    assert (here / "anime.webp").read_bytes().startswith(b"RIFF")
    assert size(here / "anime.webp") == size(here / "form.jpg") == (120, 80)
    answer = json.loads((here / "answer.json").read_text())
    assert (answer["format"], answer["width"]) == ("png", 120)
    (here / "photo.jpg").write_bytes(PHOTO[:200])
    assert run("sh", str(EXAMPLES / "curl.sh")).returncode == 22  # an HTTP error, as curl calls it


@pytest.mark.parametrize(("name", "magic"), [("python_json.py", b"\x89PNG"), ("python_form.py", b"RIFF")])
def test_python(run: Any, here: Path, name: str, magic: bytes) -> None:
    done = run(sys.executable, str(EXAMPLES / name), "photo.jpg", "anime")
    assert done.returncode == 0, done.stderr
    assert (here / "anime").read_bytes().startswith(magic)
    assert size(here / "anime") == (120, 80)
    failed = run(sys.executable, str(EXAMPLES / name), "torn.jpg", "none")
    assert failed.stderr.startswith("torn.jpg: corrupt_image: ")
    assert len(failed.stderr.splitlines()) == 1
    assert not (here / "none").exists()


@pytest.mark.parametrize("name", ["python_json.py", "python_form.py"])
def test_python_without_a_server_or_a_photo_is_one_line(run: Any, here: Path, name: str) -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        url = "http://127.0.0.1:{1}".format(*taken.getsockname())
        alone = run(sys.executable, str(EXAMPLES / name), "photo.jpg", "none", ANIMEGAN_URL=url)
    assert (alone.returncode, alone.stderr) == (1, f"{url}: [Errno 111] Connection refused\n")
    lost = run(sys.executable, str(EXAMPLES / name), "gone.jpg", "none")
    assert (lost.returncode, len(lost.stderr.splitlines())) == (1, 1)
    assert lost.stderr.startswith("gone.jpg: [Errno 2] No such file or directory")
    bare = run(sys.executable, str(EXAMPLES / name))
    assert (bare.returncode, bare.stderr.partition(" PHOTO")[0]) == (1, f"python {name}")
    assert not (here / "none").exists()


def test_python_tells_size_time_and_warnings(run: Any) -> None:
    done = run(sys.executable, str(EXAMPLES / "python_json.py"), "photo.jpg", "anime")
    first, *warnings = done.stdout.splitlines()
    assert re.fullmatch(r"anime: 120×80 in \d+ ms", first)
    assert len(warnings) == 1  # 800 pixels are more than the photo has
    assert warnings[0].startswith("warning: size=800 ")


def test_node(run: Any, here: Path) -> None:
    node = needs("node")
    if int(subprocess.run([node, "-p", "parseInt(process.versions.node)"], capture_output=True).stdout) < 18:
        pytest.skip("Node is older than 18")
    done = run(node, str(EXAMPLES / "node.mjs"), "photo.jpg", "anime.webp")
    assert done.returncode == 0, done.stderr
    assert size(here / "anime.webp") == (120, 80)
    failed = run(node, str(EXAMPLES / "node.mjs"), "torn.jpg", "none")
    assert failed.returncode == 1
    assert failed.stderr.endswith("[corrupt_image]\n")


class Broken(BaseHTTPRequestHandler):
    """A gateway whose service has gone."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(502)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, *_: object) -> None:
        pass


def test_what_a_gateway_answers_in_the_service_s_place_is_told_by_its_status(run: Any, here: Path) -> None:
    node = needs("node")
    with ThreadingHTTPServer(("127.0.0.1", 0), Broken) as gateway:
        Thread(target=gateway.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{gateway.server_port}"
        for program, name, told in (
            (sys.executable, "python_json.py", "photo.jpg: HTTP 502: Bad Gateway"),
            (sys.executable, "python_form.py", "photo.jpg: HTTP 502: Bad Gateway"),
            (node, "node.mjs", "photo.jpg: The service gave no answer. [HTTP 502]"),
        ):
            failed = run(program, str(EXAMPLES / name), "photo.jpg", "none", ANIMEGAN_URL=url)
            assert failed.stderr.splitlines()[-1] == told
        gateway.shutdown()
    assert not (here / "none").exists()


def test_the_page_in_a_browser(here: Path, address: str) -> None:
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = os.environ.get("ANIMEGAN_TEST_CHROMIUM") or shutil.which("chromium")
    served = ThreadingHTTPServer(("127.0.0.1", 0), partial(Relay, directory=str(EXAMPLES), service=address))
    Thread(target=served.serve_forever, daemon=True).start()
    with sync.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        except sync.Error as error:
            pytest.skip(f"Chromium cannot be started: {str(error).splitlines()[0]}")
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{served.server_port}/browser.html")
        page.get_by_label("Photo").set_input_files(here / "photo.jpg")
        sync.expect(page.get_by_role("status")).to_have_text("Done.", timeout=60_000)
        shown = page.get_by_alt_text("The picture")
        assert shown.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [120, 80]
        page.get_by_label("Photo").set_input_files(here / "torn.jpg")
        sync.expect(page.get_by_role("status")).to_contain_text("damaged", ignore_case=True, timeout=60_000)
        browser.close()
    served.shutdown()


class Relay(SimpleHTTPRequestHandler):
    """The examples as files, and /convert from the service: one origin, as behind one domain."""

    def __init__(self, *given: Any, service: str, **more: Any) -> None:
        self._service = service
        super().__init__(*given, **more)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name: self.headers[name] for name in ("Content-Type", "Accept")}
        answer = httpx.post(self._service + self.path, content=body, headers=headers, timeout=60)
        self.send_response(answer.status_code)
        self.send_header("Content-Type", answer.headers["content-type"])
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of moto's S3, for which the environment is set."""
    with s3_server() as url:
        for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": url}.items():
            monkeypatch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="my-photos", CreateBucketConfiguration={"LocationConstraint": REGION})
        yield client
        for found in client.list_objects_v2(Bucket="my-photos").get("Contents", []):
            client.delete_object(Bucket="my-photos", Key=found["Key"])
        client.delete_bucket(Bucket="my-photos")


@pytest.fixture
def function(frozen_styles: Path, s3: Any) -> Iterator[Emulator]:
    """The real function, as Lambda would run it, in an environment of its own: its client of S3 is kept in one."""
    storage.cache_clear()
    made = Function(Settings(styles_dir=frozen_styles), time.perf_counter())
    yield Emulator(lambda: made, log=io.StringIO())
    storage.cache_clear()


def landed(s3: Any, process: subprocess.Popen[str]) -> str:
    """The key of the photo, as soon as it is there."""
    deadline = time.monotonic() + 60
    while not (found := s3.list_objects_v2(Bucket="my-photos").get("Contents")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    key: str = found[0]["Key"]
    return key


def uploading(s3: Any, function: Emulator, command: list[str], here: Path, **variables: str) -> str:
    """Run an uploader; when its photo has landed, the function gets the event that S3 would send."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=here, env={**os.environ, **variables}, **pipes) as process:
        try:
            key = landed(s3, process)
            answer = function.invoke(s3_events.notification(key, bucket="my-photos")).payload
            assert [one["status"] for one in answer.get("objects", ())] == ["converted"], answer
            said, _ = process.communicate(timeout=60)
        finally:
            process.kill()  # else a failure would wait for its patience to end
    assert process.returncode == 0, said
    return said


@pytest.mark.parametrize("name", ["photo.jpg", "p q+r.jpeg"])
def test_an_upload_with_boto3(s3: Any, function: Emulator, here: Path, name: str) -> None:
    (here / name).write_bytes(PHOTO)
    command = [sys.executable, str(EXAMPLES / "s3_upload.py"), name, "my-photos", "anime.jpg"]
    uploading(s3, function, command, here)
    assert size(here / "anime.jpg") == (120, 80)


def test_an_upload_of_what_is_not_there_is_one_line(s3: Any, run: Any) -> None:
    lost = run(sys.executable, str(EXAMPLES / "s3_upload.py"), "gone.jpg", "my-photos", "none", **ENVIRONMENT)
    assert (lost.returncode, len(lost.stderr.splitlines())) == (1, 1)
    assert "gone.jpg" in lost.stderr


def test_an_upload_with_the_aws_command_line(s3: Any, function: Emulator, here: Path) -> None:
    needs("aws")
    uploading(s3, function, ["sh", str(EXAMPLES / "s3_upload.sh")], here, BUCKET="my-photos")
    assert size(here / "anime.jpg") == (120, 80)


class LambdaService:
    """What the state machine's interpreter takes for a client of Lambda: the real function answers."""

    def __init__(self, function: Emulator) -> None:
        self._function = function
        self.names: list[str] = []

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        self.names.append(FunctionName)
        done = self._function.invoke(json.loads(Payload))
        failed = {"FunctionError": "Unhandled"} if done.function_error else {}
        return {"StatusCode": 200, "Payload": io.BytesIO(json.dumps(done.payload).encode()), **failed}


@pytest.fixture
def machine(s3: Any) -> Iterator[Any]:
    """A client of moto's Step Functions, which interprets the Amazon States Language."""
    settings = f"{s3.meta.endpoint_url}/moto-api/config"
    before = httpx.get(settings).json().get("stepfunctions", {"execute_state_machine": False})
    httpx.post(settings, json={"stepfunctions": {"execute_state_machine": True}})
    yield boto3.client("stepfunctions")
    httpx.post(settings, json={"stepfunctions": before})


def execute(machine: Any, service: LambdaService, monkeypatch: pytest.MonkeyPatch, given: str) -> dict[str, Any]:
    """Run the example's definition until it ends."""
    monkeypatch.setattr(lambda_eval_utils, "boto_client_for", lambda **_: service)
    definition = (EXAMPLES / "step_functions.json").read_text().replace("${FunctionArn}", ALIAS)
    role = "arn:aws:iam::123456789012:role/states"
    made = machine.create_state_machine(name="convert", definition=definition, roleArn=role)["stateMachineArn"]
    execution = machine.start_execution(stateMachineArn=made, input=given)["executionArn"]
    deadline = time.monotonic() + 60
    while (said := machine.describe_execution(executionArn=execution))["status"] == "RUNNING":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    machine.delete_state_machine(stateMachineArn=made)
    told: dict[str, Any] = said
    return told


def test_step_functions(s3: Any, machine: Any, function: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.put_object(Bucket="my-photos", Key="2024/beach + boat.jpg", Body=PHOTO)
    s3.put_object(Bucket="my-photos", Key="2024/portrait.png", Body=picture("png", 40, 60))
    service = LambdaService(function)
    said = execute(machine, service, monkeypatch, (EXAMPLES / "step_functions_input.json").read_text())
    assert said["status"] == "SUCCEEDED", said
    boat, portrait, gone = json.loads(said["output"])
    assert (boat["status"], boat["output"]) == ("converted", "anime/2024/beach + boat.jpg.cel.jpg")
    assert (portrait["status"], portrait["output"]) == ("converted", "anime/2024/portrait.png.cel.png")
    assert (gone["status"], gone["code"]) == ("failed", "source_missing")
    assert set(service.names) == {ALIAS}
    assert s3.head_object(Bucket="my-photos", Key=boat["output"])["ContentType"] == "image/jpeg"


def test_the_state_machine_tries_again_what_the_stack_s_own_does() -> None:
    definition = json.loads((EXAMPLES / "step_functions.json").read_text())
    task = definition["States"]["Photos"]["ItemProcessor"]["States"]["Convert"]
    assert task["Retry"] == backfill_convert()["Retry"]
    assert task["Resource"].replace("aws", "${Partition}") != task["Resource"]
