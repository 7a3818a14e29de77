"""The state machine sends what the function reads, tries again what it asks for, and its results start nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from handler.envelopes import envelope
from handler.errors import Unfinished
from handler.jobs import DistributedMap
from handler.objects import S3Object
from handler.plan import is_output
from infra.aws import Address
from infra.backfill import Plan
from infra.engines import execution
from infra.s3_commands import FOLDER
from tests.infra.templates import Template, settings, stack
from tests.s3_events import listed

MACHINE = "arn:aws:states:eu-central-1:111122223333:stateMachine:backfill"
PATH = r"\$states\.input\.(\w+)"


def machine(**given: Any) -> dict[str, Any]:
    """The definition with its substitutions made, as Step Functions gets it."""
    resource = stack(**given).nested("Backfill").resource("StateMachine")
    text = json.dumps(resource["Definition"])
    for name, value in resource["DefinitionSubstitutions"].items():
        text = text.replace(f"${{{name}}}", str(value))
    assert "${" not in text
    definition: dict[str, Any] = json.loads(text)
    return definition


def photos(**given: Any) -> dict[str, Any]:
    state: dict[str, Any] = machine(**given)["States"]["Photos"]
    return state


def convert() -> dict[str, Any]:
    state: dict[str, Any] = photos()["ItemProcessor"]["States"]["Convert"]
    return state


def jsonata(expression: str, given: dict[str, Any]) -> Any:
    """As much of JSONata as the definition has: a path into the input, with a default or without; a number."""
    text = expression.removeprefix("{%").removesuffix("%}").strip()
    if found := re.fullmatch(rf"\$exists\({PATH}\) \? {PATH} : \"(.*)\"", text):
        assert found[1] == found[2]
        return given.get(found[1], found[3])
    if found := re.fullmatch(PATH, text):
        return given[found[1]]
    return json.loads(text)


def started(prefix: str, style: str | None) -> dict[str, Any]:
    """The input that `animegan s3 backfill --engine map` starts it with."""
    call = execution(Plan(Address("old", prefix), digest="d"), MACHINE, style, 1)
    given: dict[str, Any] = json.loads(call.parameters["input"])
    return given


@pytest.mark.parametrize("style", [None, "paprika"])
def test_a_batch_is_read_by_the_function_with_a_style_or_without(style: str | None) -> None:
    given = started("2024/", style)
    common = {name: jsonata(value, given) for name, value in photos()["ItemBatcher"]["BatchInput"].items()}
    event = {"BatchInput": common, "Items": [listed("2024/"), listed("2024/a+b c.jpg")]}
    read = envelope(event)
    assert isinstance(read, DistributedMap)
    found = read.items[1].found
    assert isinstance(found, S3Object)
    assert (found.bucket, found.key, found.style) == ("old", "2024/a+b c.jpg", style)


def test_the_bucket_is_listed_under_the_prefix_or_whole() -> None:
    wanted = photos()["ItemReader"]["Arguments"]
    assert {name: jsonata(value, started("2024/", None)) for name, value in wanted.items()} == {
        "Bucket": "old",
        "Prefix": "2024/",
    }
    assert jsonata(wanted["Prefix"], {"bucket": "old"}) == ""


def test_the_function_is_called_by_its_alias_with_the_batch_as_it_is() -> None:
    assert convert()["Arguments"] == {"FunctionName": "<AnimeganFunction.Alias>", "Payload": "{% $states.input %}"}


def test_what_the_function_leaves_unfinished_is_tried_again_and_so_is_throttling() -> None:
    again = {name: retry for retry in convert()["Retry"] for name in retry["ErrorEquals"]}
    assert again[Unfinished.__name__]["MaxAttempts"] >= 3
    assert again["Lambda.TooManyRequestsException"]["MaxAttempts"] >= 3
    assert "States.ALL" not in again  # a defect is not repaired by repeating it


def test_parameters_arrive_as_numbers() -> None:
    map_state = photos(BackfillConcurrency=7, BackfillToleratedFailures=3)
    assert jsonata(map_state["MaxConcurrency"], {}) == 7
    assert jsonata(map_state["ToleratedFailurePercentage"], {}) == 3


@pytest.mark.parametrize("given", [{}, {"OutputBucket": "out", "OutputPrefix": ""}, {"OutputPrefix": "toons/"}])
def test_results_start_nothing_and_roles_reach_them(given: dict[str, str]) -> None:
    template = stack(BackfillBucket="old", **given)
    home = photos(BackfillBucket="old", **given)["ResultWriter"]["Arguments"]
    ours = settings(template)
    assert home["Prefix"].startswith(ours.output_prefix + FOLDER)
    assert is_output(S3Object(home["Bucket"], home["Prefix"] + "/1/SUCCEEDED_0.json"), ours)
    place = f"arn:aws:s3:::{home['Bucket']}/{ours.output_prefix}{FOLDER}*"
    assert place in resources(template, "MapRole", "s3:PutObject")


def test_s3_batch_reads_manifests_where_the_command_puts_them_and_calls_the_alias() -> None:
    template = stack(BackfillBucket="old")
    assert f"arn:aws:s3:::old/anime/{FOLDER}*" in resources(template, "BatchRole", "s3:GetObject")
    assert resources(template, "BatchRole", "lambda:InvokeFunction") == ["<AnimeganFunction.Alias>"]


def resources(template: Template, role: str, action: str) -> list[str]:
    """What a role may do something with."""
    policies = template.nested("Backfill").resource(role)["Policies"]
    said = [statement for policy in policies for statement in policy["PolicyDocument"]["Statement"]]
    found = [statement["Resource"] for statement in said if action in statement["Action"]]
    return [name for of in found for name in (of if isinstance(of, list) else [of])]
