"""`animegan s3 backfill`: the real command and the real boto3, against moto's server and a small S3 Control."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, unquote_plus

import boto3
import pytest

from handler.jobs import BatchOperations
from handler.objects import S3Object
from infra.backfill import manifest_line
from infra.estimate import Terms, estimate
from tests.infra.conftest import Environment, Run
from tests.s3_server import ENVIRONMENT, REGION, error_document, s3_server

FUNCTION = f"arn:aws:lambda:{REGION}:123456789012:function:animegan"
ROLE = "arn:aws:iam::123456789012:role/batch"
DEFINITION = json.dumps({"StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}})
AWKWARD = ["a b.jpg", "a+b.jpg", "a%20b.jpg", 'say "cat".jpg', "a,b.jpg", "Übung/猫 🐈.jpg", "c'est"]
CREATE = "http://123456789012.control.test/v20180820/jobs"
GIVEN = ("--seconds-per-picture", 2)
ENGINE = ("--function", FUNCTION, "--role", ROLE)


@dataclass
class Control:
    """S3 Control as far as CreateJob goes, which moto has not: the requests it saw, jobs by their tokens.

    boto3 puts the account before the host's name, which no resolver knows; so this is the host's proxy.
    """

    url: str = ""
    requests: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    jobs: dict[str, str] = field(default_factory=dict)
    refuse: str = ""

    def create(self, path: str, headers: dict[str, str], body: str) -> tuple[int, bytes]:
        if path != CREATE or self.refuse:
            return 400, b"<ErrorResponse>" + error_document(self.refuse or path) + b"</ErrorResponse>"
        self.requests.append(body)
        self.headers.append(headers)
        job = self.jobs.setdefault(text(body, "ClientRequestToken"), f"job-{len(self.jobs) + 1}")
        return 200, f"<CreateJobResult><JobId>{job}</JobId></CreateJobResult>".encode()


def text(xml: str, tag: str) -> str:
    found = re.search(f"<{tag}>(.*?)</{tag}>", xml, re.DOTALL)
    assert found, f"no {tag} in {xml}"
    return found[1]


@contextmanager
def control_server() -> Iterator[Control]:
    here = Control()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, answer = here.create(self.path, dict(self.headers.items()), body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    here.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    yield here
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def aws() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture
def control() -> Iterator[Control]:
    with control_server() as here:
        yield here


@pytest.fixture
def cloud(aws: str, control: Control) -> Environment:
    """For the command's environment."""
    through = {"HTTP_PROXY": control.url, "NO_PROXY": "127.0.0.1"}
    theirs = {"AWS_ENDPOINT_URL_S3_CONTROL": "http://control.test", **through}
    return {**ENVIRONMENT, **theirs, "AWS_ENDPOINT_URL": aws}


def client_of(service: str, url: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )


@pytest.fixture
def s3(aws: str) -> Iterator[Any]:
    """A client, with an empty bucket `photos`."""
    client = client_of("s3", aws)
    where = {"LocationConstraint": REGION}
    client.create_bucket(Bucket="photos", CreateBucketConfiguration=where)
    yield client
    for said in client.list_objects_v2(Bucket="photos").get("Contents", []):
        client.delete_object(Bucket="photos", Key=said["Key"])
    client.delete_bucket(Bucket="photos")


def put(s3: Any, *keys: str, data: bytes = b"photo", **more: Any) -> None:
    for key in keys:
        s3.put_object(Bucket="photos", Key=key, Body=data, **more)


def keys(s3: Any) -> list[str]:
    return [said["Key"] for said in s3.list_objects_v2(Bucket="photos").get("Contents", [])]


def manifest(s3: Any, said: dict[str, Any]) -> list[str]:
    bucket, _, key = said["manifest"].removeprefix("s3://").partition("/")
    lines: list[str] = s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode().splitlines()
    return lines


def plan(animegan: Run, cloud: Environment, *args: object) -> dict[str, Any]:
    done = animegan("s3", "backfill", "--json", *GIVEN, *args, env=cloud)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_what_is_left_out_is_counted_by_reason_and_a_dry_run_writes_nothing(
    animegan: Run, s3: Any, control: Control, cloud: Environment
) -> None:
    put(s3, "a.jpg", "b.png", "notes.txt")
    put(s3, "anime/a.jpg.cel.jpg", "anime/x")
    put(s3, "folder/", "empty.jpg", "empty.png", data=b"")
    put(s3, "large.jpg", data=b"x" * 101)
    put(s3, "old.jpg", StorageClass="GLACIER")
    put(s3, "instant.jpg", StorageClass="GLACIER_IR")
    before = keys(s3)
    said = plan(animegan, {**cloud, "MAX_INPUT_BYTES": "100"}, "s3://photos", *ENGINE)
    assert (said["objects"], said["bytes"]) == (4, 20)  # a.jpg, b.png, notes.txt, instant.jpg of 5 bytes each
    refused = {"empty_image": 2, "payload_too_large": 1, "source_archived": 1}
    assert said["left"] == {"output": 2, "folder": 1, **refused}
    assert said["started"] is None
    assert keys(s3) == before
    assert control.requests == []
    assert said["call"]["operation"] == "create_job"
    assert said["call"]["parameters"]["AccountId"] == "123456789012"


def test_prefix_and_suffixes_choose(animegan: Run, s3: Any, cloud: Environment) -> None:
    put(s3, "in/a.JPG", "in/b.png", "in/c.txt", "out.jpg")
    said = plan(animegan, cloud, "s3://photos/in/", "--suffix", ".jpg,png")
    assert (said["objects"], said["left"]) == (2, {"suffix": 1})


def test_photos_with_a_newer_picture_are_left_out_only_where_that_is_asked_for(
    animegan: Run, s3: Any, cloud: Environment
) -> None:
    put(s3, "p/done.jpg", "p/heic.heic", "p/replaced.jpg", "p/other style.jpg", "p/new.jpg", "done.jpg")
    time.sleep(1.1)  # S3's listing tells seconds
    put(s3, "anime/p/done.jpg.cel.jpg", "anime/p/heic.heic.cel.png", "anime/p/replaced.jpg.cel.jpg")
    put(s3, "anime/p/other style.jpg.hayao.jpg", "anime/p/new.jpg.error.json")
    time.sleep(1.1)
    put(s3, "p/replaced.jpg")
    assert plan(animegan, cloud, "s3://photos/p/")["objects"] == 5
    said = plan(animegan, cloud, "s3://photos/p/", "--skip-converted")
    assert (said["objects"], said["left"]) == (3, {"converted": 2})
    said = plan(animegan, cloud, "s3://photos/p/", "--skip-converted", "--style", "hayao")
    assert (said["objects"], said["left"]) == (4, {"converted": 1})


def test_manifest_lines_decode_back_to_the_keys_also_by_the_handler(
    animegan: Run, s3: Any, control: Control, cloud: Environment
) -> None:
    put(s3, *AWKWARD)
    said = plan(animegan, cloud, "s3://photos", "--start", *ENGINE)
    lines = manifest(s3, said)
    assert manifest_line("photos", "x\r\ny") == b"photos,x%0D%0Ay\n"  # which moto takes for no key
    assert all(re.fullmatch(r"photos,[\w.~/%-]+", line, re.ASCII) for line in lines)
    coded = [line.removeprefix("photos,") for line in lines]
    assert sorted(map(unquote, coded)) == sorted(map(unquote_plus, coded)) == sorted(AWKWARD)
    tasks = [{"taskId": str(n), "s3Key": key, "s3Bucket": "photos"} for n, key in enumerate(coded)]
    event = {"invocationSchemaVersion": "2.0", "invocationId": "i", "job": {}, "tasks": tasks}
    found = [item.found for item in BatchOperations(event).items]
    assert sorted(one.key for one in found if isinstance(one, S3Object)) == sorted(AWKWARD)


def test_start_uploads_the_manifest_and_creates_one_job_however_often(
    animegan: Run, s3: Any, control: Control, cloud: Environment
) -> None:
    put(s3, "a.jpg", "b.jpg")
    args = ("s3://photos", "--start", *ENGINE, "--style", "cel")
    first, second = plan(animegan, cloud, *args), plan(animegan, cloud, *args)
    assert second.pop("left") == {"output": 1}  # the manifest, which is no photo
    assert first.pop("left") == {}
    assert first == second
    assert first["started"] == {"jobId": "job-1"}
    assert len(control.requests) == 2
    assert control.requests[0] == control.requests[1]
    said = s3.head_object(Bucket="photos", Key=first["manifest"].removeprefix("s3://photos/"))
    xml = control.requests[0]
    assert text(xml, "ETag") == said["ETag"].strip('"')
    assert text(xml, "ObjectArn") == first["manifest"].replace("s3://", "arn:aws:s3:::")
    assert first["manifest"].startswith("s3://photos/anime/backfill/")
    assert text(xml, "FunctionArn") == FUNCTION
    assert text(xml, "RoleArn") == ROLE
    assert text(xml, "InvocationSchemaVersion") == "2.0"
    assert text(xml, "entry") == "<key>style</key><value>cel</value>"
    assert text(xml, "ConfirmationRequired") == "true"
    assert text(xml, "ReportScope") == "FailedTasksOnly"
    assert text(xml, "Prefix") == "anime/backfill"
    assert control.headers[0]["x-amz-account-id"] == "123456789012"
    assert f"/{REGION}/s3/" in control.headers[0]["Authorization"]


def test_another_attempt_function_or_photo_is_another_job(
    animegan: Run, s3: Any, control: Control, cloud: Environment
) -> None:
    put(s3, "a.jpg")
    args: tuple[object, ...] = ("s3://photos", "--start", *ENGINE)
    jobs = [plan(animegan, cloud, *args)["started"]["jobId"]]
    jobs += [plan(animegan, cloud, *args, "--attempt", 2)["started"]["jobId"]]
    jobs += [plan(animegan, cloud, *args, "--function", f"{FUNCTION}:live")["started"]["jobId"]]
    put(s3, "b.jpg")
    jobs += [plan(animegan, cloud, *args, "--yes")["started"]["jobId"]]
    assert jobs == ["job-1", "job-2", "job-3", "job-4"]
    assert text(control.requests[-1], "ConfirmationRequired") == "false"


def test_manifest_and_report_go_where_they_are_told_but_not_among_the_photos(
    animegan: Run, s3: Any, control: Control, cloud: Environment
) -> None:
    put(s3, "in/a.jpg")
    place = ("--manifest", "s3://photos/jobs", "--report", "s3://reports")
    said = plan(animegan, cloud, "s3://photos/in/", "--start", *ENGINE, *place)
    assert said["manifest"].startswith("s3://photos/jobs/")
    assert manifest(s3, said) == ["photos,in/a.jpg"]
    report = text(control.requests[0], "Report")
    assert text(report, "Bucket") == "arn:aws:s3:::reports"
    assert "<Prefix>" not in report
    for option in ("--manifest", "--report"):
        done = animegan("s3", "backfill", "s3://photos", option, "s3://photos/jobs", env=cloud)
        assert done.returncode == 1
        assert f"{option} s3://photos/jobs/ lies among the photos" in done.stderr


def test_with_a_bucket_for_pictures_the_manifest_goes_there(
    animegan: Run, s3: Any, control: Control, cloud: Environment
) -> None:
    put(s3, "a.jpg")
    said = plan(animegan, {**cloud, "OUTPUT_BUCKET": "pictures", "OUTPUT_PREFIX": ""}, "s3://photos")
    assert said["manifest"].startswith("s3://pictures/backfill/")


def test_the_map_engine_starts_one_execution_however_often(
    animegan: Run, s3: Any, aws: str, cloud: Environment
) -> None:
    states = client_of("stepfunctions", aws)
    machine = states.create_state_machine(name="backfill", definition=DEFINITION, roleArn=ROLE)["stateMachineArn"]
    put(s3, "p/a b.jpg")
    args = ("s3://photos/p/", "--engine", "map", "--state-machine", machine, "--style", "cel")
    dry = plan(animegan, cloud, *args)
    assert dry["missing"] == []
    assert states.list_executions(stateMachineArn=machine)["executions"] == []
    said = plan(animegan, cloud, *args, "--start")
    assert said["estimate"]["batch_usd"] == 0
    (execution,) = states.list_executions(stateMachineArn=machine)["executions"]
    assert execution["executionArn"] == said["started"]["executionArn"]
    assert execution["name"] == dry["call"]["parameters"]["name"]
    given = json.loads(states.describe_execution(executionArn=execution["executionArn"])["input"])
    assert given == {"bucket": "photos", "prefix": "p/", "style": "cel"}
    animegan("s3", "backfill", *args, "--start", *GIVEN, env=cloud)
    assert len(states.list_executions(stateMachineArn=machine)["executions"]) == 1


def test_a_person_gets_a_table_the_call_and_what_is_missing(animegan: Run, s3: Any, cloud: Environment) -> None:
    put(s3, "a.jpg", "anime/x.jpg")
    done = animegan("s3", "backfill", "s3://photos", *GIVEN, env=cloud)
    assert done.returncode == 0, done.stderr
    assert "to convert           1 objects, 5 bytes" in done.stdout
    assert "1 that lie where pictures go [output]" in done.stdout
    assert "2.00 s at 1,769 MB (as given)" in done.stdout
    assert "call that --start makes: s3control.create_job {" in done.stdout
    assert "nothing was written. --start starts it, with --function and --role.\n" in done.stdout
    done = animegan("s3", "backfill", "s3://photos", *GIVEN, *ENGINE, "--start", env=cloud)
    assert "Started: jobId job-1. It waits for its confirmation" in done.stdout


def test_the_estimate_by_hand() -> None:
    got = estimate(1000, Terms(seconds=2.0, memory_mb=1769, concurrency=100))
    assert got.gb_seconds == pytest.approx(3455.078125)  # 1000 × 2 × 1769 / 1024
    assert got.lambda_usd == pytest.approx(0.0575847 + 0.0002)  # 3455.078125 × 0.0000166667, 1000 × 0.2e-6
    assert got.batch_usd == pytest.approx(0.251)  # 0.25 + 1000 × 1e-6
    assert (got.puts, got.gets, got.invocations) == (1000, 3000, 1000)
    assert got.s3_usd == pytest.approx(0.0062)  # 1000 × 0.005 / 1000 + 3000 × 0.0004 / 1000
    assert got.usd == pytest.approx(0.3149847)
    assert got.duration_s == 20.0  # ten rounds of 100
    assert estimate(101, Terms(2.0, 1024, 100)).duration_s == 4.0
    assert estimate(1, Terms(1.0, 1024, 1, batch=False, gb_second=0.5)).lambda_usd == pytest.approx(0.5000002)
    assert estimate(0, Terms(2.0, 1769, 100)).usd == 0


def test_the_function_s_own_log_is_understood(animegan: Run, s3: Any, cloud: Environment, tmp_path: Path) -> None:
    event = Path(__file__).parents[2] / "infra" / "events" / "http_v2.json"
    (tmp_path / "log").write_text(animegan("invoke", event, "--repeat", 3).stderr)
    done = animegan("s3", "backfill", "s3://photos", "--json", "--log", tmp_path / "log", env=cloud)
    terms = json.loads(done.stdout)["terms"]
    assert terms["origin"].startswith("median of 3 conversions, ")
    assert 0 < terms["seconds"] < 60


def test_without_a_figure_it_is_measured_here_and_said(animegan: Run, s3: Any, cloud: Environment) -> None:
    put(s3, "a.jpg")
    done = animegan("s3", "backfill", "s3://photos", "--json", env=cloud)
    assert done.returncode == 0, done.stderr
    assert "measuring conversions on this machine" in done.stderr
    terms = json.loads(done.stdout)["terms"]
    assert terms["origin"] == "median of 3 conversions, a photo of 1024×768 made up here, on this machine"
    assert terms["seconds"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("s3://photos", "--start"), "to start, --engine batch needs --function and --role"),
        (("s3://photos", "--engine", "map", "--start"), "--engine map needs --state-machine"),
        (("s3://photos", "--engine", "map", "--suffix", "jpg"), "a state machine lists for itself"),
        (("photos",), "'photos' is no place in S3: write s3://BUCKET"),
        (("s3://gone-bucket",), "AWS refuses ListObjectsV2: NoSuchBucket: "),
        (("s3://No Bucket!",), "AWS could not be asked: Parameter validation failed: "),
        (("s3://photos", "--start", *ENGINE), "nothing to convert in s3://photos/, so nothing was started"),
        (("s3://photos", "--log", "/nowhere"), "/nowhere: No such file or directory"),
        (("s3://photos", "--log", "/dev/null"), "/dev/null has no line of a conversion that went well"),
    ],
)
def test_what_cannot_be_is_one_line(
    animegan: Run, s3: Any, cloud: Environment, arguments: tuple[str, ...], message: str
) -> None:
    given = () if "--log" in arguments else GIVEN
    done = animegan("s3", "backfill", *given, *arguments, env=cloud)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_a_job_that_is_refused_and_an_address_that_nobody_answers(
    animegan: Run, s3: Any, control: Control, cloud: Environment
) -> None:
    put(s3, "a.jpg")
    control.refuse = "InvalidRequest"
    done = animegan("s3", "backfill", "s3://photos", *GIVEN, *ENGINE, "--start", env=cloud)
    assert done.stderr == "animegan: AWS refuses CreateJob: InvalidRequest: by a test\n"
    nobody = {**cloud, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
    done = animegan("s3", "backfill", "s3://photos", *GIVEN, env=nobody)
    assert done.stderr.startswith("animegan: AWS could not be asked: Could not connect to the endpoint URL")


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"AWS_ENDPOINT_URL": "garbage"}, "AWS_ENDPOINT_URL, or AWS_ENDPOINT_URL_… of s3: Invalid endpoint"),
        ({"AWS_PROFILE": "nope"}, "AWS_PROFILE: The config profile (nope) could not be found"),
        ({"AWS_DEFAULT_REGION": "a b"}, "AWS could not be asked: Provided region_name 'a b'"),
    ],
)
def test_an_environment_that_boto3_can_do_nothing_with_is_told_by_its_variable(
    animegan: Run, cloud: Environment, variables: Environment, told: str
) -> None:
    done = animegan("s3", "backfill", "s3://photos", *GIVEN, env={**cloud, **variables})
    assert done.returncode == 1
    assert done.stderr.startswith(f"animegan: {told}")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("json_too", [("--json",), ()])
def test_a_terminal_that_knows_only_ascii_gets_escapes(
    animegan: Run, s3: Any, cloud: Environment, json_too: tuple[str, ...]
) -> None:
    put(s3, "写真/😀.jpg")
    ascii = {**cloud, "PYTHONIOENCODING": "ascii"}
    done = animegan("s3", "backfill", "s3://photos/写真/😀", *GIVEN, *json_too, env=ascii)
    assert done.returncode == 0, done.stderr
    if json_too:
        assert json.loads(done.stdout)["source"] == "s3://photos/写真/😀"
    else:
        assert "s3://photos/\\u5199\\u771f/\\U0001f600" in done.stdout


def test_without_credentials_it_says_what_to_set(animegan: Run, cloud: Environment, tmp_path: Path) -> None:
    none = {name: value for name, value in cloud.items() if "KEY" not in name} | {"HOME": str(tmp_path)}
    done = animegan("s3", "backfill", "s3://photos", *GIVEN, env=none)
    assert done.stderr.startswith("animegan: no AWS credentials: set AWS_PROFILE, or AWS_ACCESS_KEY_ID")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ("--function", "animegan"),
        ("--role", FUNCTION),
        ("--memory", "0"),
        ("--seconds-per-picture", "0"),
        ("--seconds-per-picture", "1e300"),
        ("--suffix", ""),
        ("--suffix", " , ."),
    ],
)
def test_options_that_make_no_sense_are_wrong_usage(animegan: Run, wrong: tuple[str, str]) -> None:
    done = animegan("s3", "backfill", "s3://photos", *wrong)
    assert done.returncode == 2
    assert wrong[0] in done.stderr
