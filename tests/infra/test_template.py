"""The stack and the function agree: settings, versions, access, permissions, and templates among themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from handler.settings import Settings
from tests.infra.templates import BUCKET, FUNCTION, NESTED, POWERTOOLS, settings, stack, variables

ROOT = Path(__file__).parents[2]
REF = re.compile(r"'Ref': '(\w+)'")
SUB = re.compile(r"\$\{(\w+)\}")
OURS = {name.upper() for name in Settings.model_fields}


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OURS | POWERTOOLS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LAMBDA_TASK_ROOT", "/var/task")  # as Lambda's own images have it


def as_written(*path: str) -> Any:
    """What the template has under a property of the function, unresolved."""
    found: Any = stack().body["Resources"][FUNCTION]["Properties"]
    for name in path:
        found = found[name]
    return found


def test_every_setting_is_a_variable_of_the_function_with_its_own_default() -> None:
    template = stack(Trigger="NONE")
    assert variables(template).keys() == OURS | POWERTOOLS
    assert settings(template) == Settings.from_environment()


def test_uploads_go_to_the_stacks_bucket_if_anything_converts_them() -> None:
    assert settings(stack(Trigger="SQS")).upload_bucket == BUCKET
    assert settings(stack(Trigger="EVENTBRIDGE")).upload_bucket == BUCKET
    assert settings(stack(Trigger="NONE")).upload_bucket == ""


def test_settings_take_whatever_parameters_allow() -> None:
    template = stack()
    for name in REF.findall(str(as_written("Environment"))):
        said = template.parameters[name]
        edges = [said[edge] for edge in ("MinValue", "MaxValue") if edge in said]
        for value in [*said.get("AllowedValues", []), *edges]:
            settings(stack(**{name: value}))  # raises SettingsError


@pytest.mark.parametrize(("parameter", "field"), [("Precision", "precision"), ("OutputFormat", "output_format")])
def test_parameters_allow_every_choice_that_a_setting_has(parameter: str, field: str) -> None:
    choices = get_args(Settings.model_fields[field].annotation)
    assert set(stack().parameters[parameter]["AllowedValues"]) == set(choices)


def test_a_version_is_described_by_all_that_the_function_has_so_that_any_change_makes_another() -> None:
    has = [as_written(name) for name in ("MemorySize", "Timeout", "EphemeralStorage", "Environment")]
    text, more = as_written("VersionDescription", "Fn::Sub")
    assert set(SUB.findall(text)) == {*REF.findall(str(has)), "Uploads"}
    assert more["Uploads"] == as_written("Environment", "Variables", "UPLOAD_BUCKET")


def test_no_description_of_a_version_is_too_long_for_lambda() -> None:
    def longest(found: re.Match[str]) -> str:
        said = stack().parameters["BucketName" if found[1] == "Uploads" else found[1]]
        values = [said.get("MaxValue", ""), *said.get("AllowedValues", [])]
        return "x" * said.get("MaxLength", max(len(str(value)) for value in values))

    assert len(SUB.sub(longest, as_written("VersionDescription", "Fn::Sub")[0])) <= 256


def test_api_and_alarm_name_the_alias_that_is_published() -> None:
    template = stack()
    for path in template.resource("HttpApi")["DefinitionBody"]["paths"].values():
        for route in path.values():
            uri = route["x-amazon-apigateway-integration"]["uri"]
            assert f"<{FUNCTION}.Arn>:{as_written('AutoPublishAlias')}/invocations" in uri
    dimensions = template.nested("Observability").resource("RollbackAlarm")["Dimensions"]
    assert dimensions[1] == {"Name": "Resource", "Value": f"<{FUNCTION}>:{as_written('AutoPublishAlias')}"}


@pytest.mark.parametrize(("access", "scheme"), [("IAM", "Iam"), ("JWT", "Jwt"), ("OPEN", None)])
def test_every_route_has_the_access_that_was_chosen(access: str, scheme: str | None) -> None:
    template = stack(Access=access, JwtIssuer="https://issuer.example", JwtAudience="app")
    body = template.resource("HttpApi")["DefinitionBody"]
    routes = [route for path in body["paths"].values() for route in path.values()]
    assert [route["security"] for route in routes] == [[{scheme: []}] if scheme else []] * 3
    assert {scheme} <= {None, *body["components"]["securitySchemes"]}


def test_the_api_is_not_open_unless_that_is_said() -> None:
    assert stack().parameters["Access"]["Default"] == "IAM"


@pytest.mark.parametrize("given", [{}, {"JwtIssuer": "https://issuer.example"}, {"JwtAudience": "app"}])
def test_tokens_need_an_issuer_and_an_audience(given: dict[str, str]) -> None:
    assert not stack(Access="JWT", **given).is_allowed()


def statements(**given: Any) -> dict[str, dict[str, Any]]:
    (policy,) = stack(**given).resource("FunctionRole")["Policies"]
    return {statement["Sid"]: statement for statement in policy["PolicyDocument"]["Statement"]}


def written(**given: Any) -> set[str]:
    found = [said for said in statements(**given).values() if "s3:PutObject" in said["Action"]]
    return {resource.removeprefix("arn:aws:s3:::") for said in found for resource in said["Resource"]}


def test_the_function_writes_only_where_pictures_and_uploads_go() -> None:
    uploads = f"{BUCKET}/uploads/*"
    assert written() == {f"{BUCKET}/anime/*", uploads}
    assert written(BackfillBucket="old") == {f"{BUCKET}/anime/*", "old/anime/*", uploads}
    assert written(BackfillBucket="old", OutputBucket="out") == {"out/anime/*", uploads}


def test_only_tracing_is_allowed_for_every_resource() -> None:
    assert {sid for sid, said in statements().items() if "*" in said["Resource"]} == {"Trace"}


@pytest.mark.parametrize("name", NESTED)
def test_nested_templates_get_their_parameters_and_have_the_outputs_that_are_read(name: str) -> None:
    template = stack()
    nested = template.nested(name)
    assert template.resource(name)["Parameters"].keys() == nested.parameters.keys()
    read = set(re.findall(rf"{name}(?:', '|\.)Outputs\.(\w+)", str(template.body)))
    assert read
    assert read <= nested.body["Outputs"].keys()


def test_the_documents_list_every_setting_with_its_default() -> None:
    rows: dict[str, str] = {}
    for document in ("README.md", "docs/s3.md"):
        section = (ROOT / document).read_text().partition("\n## Settings\n")[2].partition("\n## ")[0]
        rows |= dict(re.findall(r"^\| `([A-Z_]+)` \| (.+?) \|", section, re.MULTILINE))
    assert rows.keys() == OURS | {"POWERTOOLS_METRICS_NAMESPACE"}
    for name, default in Settings.from_environment().model_dump(exclude={"styles_dir"}).items():
        cell = rows[name.upper()]
        said = cell.strip("`").replace(",", "") if cell[0] in "`0123456789" else ""  # prose, where there is none
        assert said.lower() == str(default).lower(), name
