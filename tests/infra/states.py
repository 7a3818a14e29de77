"""A small Step Functions: runs a definition in JSONata, with functions for AWS's calls and without waiting.

Only what our definitions use: Pass, Task, Wait, Choice, Map, Fail; Arguments, Output, Assign, Retry, Catch.
Source: AWS, "Transforming data with JSONata in Step Functions" and "Passing data between states with variables".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonata

Service = Callable[..., dict[str, Any]]
MOST_STATES = 1000  # of one execution, before it is taken to go on for ever


class Failed(Exception):
    """A state that failed, or a call to AWS."""

    def __init__(self, error: str, cause: str = "") -> None:
        super().__init__(f"{error}: {cause}")
        self.error, self.cause = error, cause


@dataclass
class Machine:
    """`services`: what comes after arn:…:states::: -> a function of the arguments. `passed`: names of states."""

    services: Mapping[str, Service]
    passed: list[str] = field(default_factory=list)

    def run(self, definition: Mapping[str, Any], given: Any, variables: dict[str, Any] | None = None) -> Any:
        """The output. Raises Failed."""
        name, scope = definition["StartAt"], {} if variables is None else variables
        while True:
            self.passed.append(name)
            assert len(self.passed) < MOST_STATES, "it goes round in circles"
            state = definition["States"][name]
            try:
                given, following = self._state(state, given, scope)
            except Failed as failed:
                given, following = _caught(state, failed, given, scope)
            if following is None:
                return given
            name = following

    def _state(self, state: Mapping[str, Any], given: Any, scope: dict[str, Any]) -> tuple[Any, str | None]:
        known: dict[str, Any] = {"input": given}
        if state["Type"] == "Choice":
            return given, _chosen(state, known, scope)
        if state["Type"] == "Fail":
            raise Failed(*(str(resolved(state.get(part, ""), known, scope)) for part in ("Error", "Cause")))
        result = given
        if state["Type"] == "Task":
            result = known["result"] = self._task(state, known, scope)
        elif state["Type"] == "Map":
            items = resolved(state["Items"], known, scope)
            result = [self.run(state["ItemProcessor"], item, dict(scope)) for item in items]
        assigned = resolved(state.get("Assign", {}), known, scope)
        output = resolved(state["Output"], known, scope) if "Output" in state else result
        scope |= assigned
        return output, None if state.get("End") else state["Next"]

    def _task(
        self, state: Mapping[str, Any], known: Mapping[str, Any], scope: Mapping[str, Any]
    ) -> dict[str, Any]:
        arguments = resolved(state["Arguments"], known, scope)
        service = self.services[state["Resource"].partition(":states:::")[2]]
        attempts = 1 + max((retry["MaxAttempts"] for retry in state.get("Retry", [])), default=0)
        for left in reversed(range(attempts)):
            try:
                return service(**arguments)
            except Failed:
                if not left:
                    raise
        raise AssertionError("unreachable")


def _caught(state: Mapping[str, Any], failed: Failed, given: Any, scope: dict[str, Any]) -> tuple[Any, str]:
    for catcher in state.get("Catch", []):
        if catcher["ErrorEquals"] == ["States.ALL"]:
            told = {"Error": failed.error, "Cause": failed.cause}
            return resolved(catcher["Output"], {"input": given, "errorOutput": told}, scope), catcher["Next"]
    raise failed


def _chosen(state: Mapping[str, Any], known: Mapping[str, Any], scope: Mapping[str, Any]) -> str:
    for choice in state["Choices"]:
        holds = resolved(choice["Condition"], known, scope)
        assert isinstance(holds, bool)
        if holds:
            return str(choice["Next"])
    return str(state["Default"])


def resolved(node: Any, known: Mapping[str, Any], scope: Mapping[str, Any]) -> Any:
    """With every text in {% %} evaluated. An expression that gives nothing is an error, as it is there."""
    if isinstance(node, dict):
        return {key: resolved(value, known, scope) for key, value in node.items()}
    if isinstance(node, list):
        return [resolved(value, known, scope) for value in node]
    if not (isinstance(node, str) and node.startswith("{%") and node.endswith("%}")):
        return node
    expression = jsonata.Jsonata(node[2:-2])
    frame = expression.create_frame()
    for name, value in {**scope, "states": known}.items():
        frame.bind(name, value)
    value = expression.evaluate(None, frame)
    assert value is not None, f"{node} gives nothing"
    return value
