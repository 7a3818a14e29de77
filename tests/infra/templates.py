"""CloudFormation templates as their parameters make them: a loader for the short tags, and what functions give.

Only what CloudFormation itself could say before anything is made: what a resource will be called stays in angle
brackets, such as <Storage.Outputs.Bucket>.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from handler.settings import Settings

ROOT = Path(__file__).parents[2]
NESTED = ("Backfill", "Dashboard", "Observability", "Queries", "Storage")
FUNCTION = "AnimeganFunction"
BUCKET = "<Storage.Outputs.Bucket>"
POWERTOOLS = {"POWERTOOLS_METRICS_NAMESPACE", "POWERTOOLS_SERVICE_NAME", "LOG_LEVEL"}
NOTHING = object()  # AWS::NoValue
PSEUDO = {"AWS::Partition": "aws", "AWS::Region": "eu-central-1", "AWS::AccountId": "111122223333"}


class Loader(yaml.SafeLoader):
    """SafeLoader with !Ref, !Sub and their like in their long form."""


def _tag(loader: Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    if suffix == "GetAtt":
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


Loader.add_multi_constructor("!", _tag)


@cache
def load(path: str) -> dict[str, Any]:
    """Read it, don't change it."""
    body: dict[str, Any] = yaml.load((ROOT / path).read_text(), Loader)
    return body


class Template:
    """A template with values for its parameters; the others have their defaults."""

    def __init__(self, path: str, **given: Any) -> None:
        self.body = load(path)
        self.parameters: dict[str, dict[str, Any]] = self.body["Parameters"]
        assert given.keys() <= self.parameters.keys(), f"{path} has no parameters {given.keys() - self.parameters}"
        defaults = {name: said["Default"] for name, said in self.parameters.items() if "Default" in said}
        self._values = {**defaults, **given}

    def resource(self, name: str) -> dict[str, Any]:
        """Its properties, everything in them resolved."""
        properties: dict[str, Any] = self.resolve(self.body["Resources"][name]["Properties"])
        return properties

    def is_allowed(self) -> bool:
        """Whether the rules let CloudFormation begin."""
        rules = self.body.get("Rules", {}).values()
        return all(
            self.resolve(assertion["Assert"])
            for rule in rules
            if self.resolve(rule.get("RuleCondition", True))
            for assertion in rule["Assertions"]
        )

    def nested(self, name: str) -> Template:
        """The template of one of the stack's applications, with the parameters that it gets."""
        application = self.resource(name)
        return Template(application["Location"], **application.get("Parameters", {}))

    def condition(self, name: str) -> bool:
        return bool(self.resolve(self.body["Conditions"][name]))

    def resolve(self, node: Any) -> Any:
        if isinstance(node, list):
            return [value for value in map(self.resolve, node) if value is not NOTHING]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            ((name, argument),) = node.items()
            if name == "Condition" and isinstance(argument, str):
                return self.condition(argument)
            if function := FUNCTIONS.get(name):
                return function(self, argument)
        resolved = {key: self.resolve(value) for key, value in node.items()}
        return {key: value for key, value in resolved.items() if value is not NOTHING}

    def ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NOTHING
        if name not in self.parameters:
            return PSEUDO.get(name, f"<{name}>")
        value = self._values[name]
        is_list = self.parameters[name]["Type"] == "CommaDelimitedList"
        return value.split(",") if is_list and isinstance(value, str) else value

    def sub(self, argument: Any) -> str:
        text, more = argument if isinstance(argument, list) else (argument, {})
        values = {key: self.resolve(value) for key, value in more.items()}

        def value(found: re.Match[str]) -> str:
            name = found[1]
            if name in values:
                return str(values[name])
            return str(self.ref(name)) if "." not in name else f"<{name}>"

        return re.sub(r"\$\{([\w:.]+)\}", value, text).replace("${!", "${")

    def either(self, argument: list[Any]) -> Any:
        name, true, false = argument
        return self.resolve(true if self.condition(name) else false)

    def find(self, argument: list[Any]) -> Any:
        table, row, column = map(self.resolve, argument)
        return self.body["Mappings"][table][row][str(column)]


def _with(function: Callable[..., Any]) -> Callable[[Template, Any], Any]:
    return lambda template, argument: function(*template.resolve(argument))


FUNCTIONS: dict[str, Callable[[Template, Any], Any]] = {
    "Ref": Template.ref,
    "Fn::Sub": Template.sub,
    "Fn::If": Template.either,
    "Fn::FindInMap": Template.find,
    "Fn::GetAtt": lambda _, path: f"<{'.'.join(path)}>",
    "Fn::Equals": _with(lambda one, other: str(one) == str(other)),
    "Fn::Not": _with(lambda it: not it),
    "Fn::And": _with(lambda *all_of: all(all_of)),
    "Fn::Or": _with(lambda *any_of: any(any_of)),
    "Fn::Contains": _with(lambda these, it: it in these),
    "Fn::Join": _with(lambda between, parts: between.join(parts)),
    "Fn::Split": _with(lambda between, text: text.split(between)),
    "Fn::Select": _with(lambda place, of: of[place % len(of)]),
}


def stack(**given: Any) -> Template:
    return Template("template.yaml", **given)


def variables(template: Template) -> dict[str, str]:
    """Of the function's environment, as text, as Lambda has them."""
    found = template.resource(FUNCTION)["Environment"]["Variables"]
    return {name: str(value) for name, value in found.items()}


def settings(template: Template) -> Settings:
    """What the function makes of its environment. Raises SettingsError."""
    with pytest.MonkeyPatch.context() as here:
        for name, value in variables(template).items():
            here.setenv(name, value)
        return Settings.from_environment()
