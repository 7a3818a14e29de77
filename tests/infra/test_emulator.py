from __future__ import annotations

import io
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from handler.errors import UnknownEvent
from infra.emulator import Emulator, Handler
from infra.errors import RequestTooLarge

REPORT = re.compile(
    r"^REPORT RequestId: (?P<id>[0-9a-f-]{36})\tDuration: (?P<duration>\d+\.\d\d) ms"
    r"\tBilled Duration: (?P<billed>\d+) ms\tMemory Size: 1769 MB\tMax Memory Used: (?P<used>\d+) MB"
    r"(?:\tInit Duration: (?P<init>\d+\.\d\d) ms)?(?:\tStatus: (?P<status>timeout))?$",
    re.MULTILINE,
)
AWS_ATTRIBUTES = (
    *("aws_request_id", "client_context", "function_name", "function_version", "identity", "invoked_function_arn"),
    *("log", "log_group_name", "log_stream_name", "memory_limit_in_mb"),
)


def emulator(handler: Handler, **options: Any) -> tuple[Emulator, io.StringIO]:
    log = io.StringIO()
    return Emulator(lambda: handler, log=log, **options), log


def answer(value: Any) -> Handler:
    return lambda event, context: value


def test_each_invocation_has_start_end_and_report_lines_and_only_the_first_an_init_duration() -> None:
    function, log = emulator(answer({"ok": True}))
    first, second = function.invoke({}), function.invoke({})
    reports = list(REPORT.finditer(log.getvalue()))
    assert [report["id"] for report in reports] == [first.request_id, second.request_id]
    assert [report["init"] is not None for report in reports] == [True, False]
    assert first.init_ms is not None
    assert second.init_ms is None
    assert f"START RequestId: {first.request_id} Version: $LATEST\n" in log.getvalue()
    assert f"END RequestId: {first.request_id}\n" in log.getvalue()
    assert int(reports[0]["used"]) > 10


def test_init_is_measured_and_billed_with_the_first_invocation() -> None:
    def load() -> Handler:
        time.sleep(0.05)
        return answer(None)

    log = io.StringIO()
    Emulator(load, log=log).invoke({})
    report = REPORT.search(log.getvalue())
    assert report
    assert float(report["init"]) >= 50
    assert int(report["billed"]) >= float(report["init"]) + float(report["duration"])


def test_the_remaining_time_counts_down_from_the_timeout_to_zero() -> None:
    seen: list[int] = []

    def handler(event: Any, context: Any) -> None:
        for pause in (0, 0.02, 0.1):
            time.sleep(pause)
            seen.append(context.get_remaining_time_in_millis())

    emulator(handler)[0].invoke({}, timeout_s=0.1)
    assert 50 < seen[0] <= 100
    assert seen[0] - seen[1] >= 15
    assert seen[2] == 0
    assert all(isinstance(left, int) for left in seen)


def test_the_context_has_what_lambda_s_has_and_a_request_id_of_its_own_each_time() -> None:
    contexts: list[Any] = []
    function, _ = emulator(lambda event, context: contexts.append(context))
    function.invoke({})
    function.invoke({})
    assert all(hasattr(contexts[0], name) for name in AWS_ATTRIBUTES)
    assert contexts[0].memory_limit_in_mb == "1769"
    assert contexts[0].identity.cognito_identity_id is None
    assert contexts[0].aws_request_id != contexts[1].aws_request_id
    assert contexts[0].log_stream_name == contexts[1].log_stream_name


def test_an_invocation_over_its_timeout_is_reported_as_such_and_its_answer_is_lost() -> None:
    function, log = emulator(lambda event, context: time.sleep(0.05))
    done = function.invoke({}, timeout_s=0.01)
    report = REPORT.search(log.getvalue())
    assert report
    assert report["status"] == "timeout"
    assert float(report["duration"]) >= 50
    assert done.timed_out
    assert done.function_error
    assert done.payload["errorMessage"].endswith("Task timed out after 0.01 seconds")


@pytest.mark.parametrize("debug", [False, True])
def test_an_exception_becomes_a_function_error_with_a_traceback_only_in_a_debug_log(debug: bool) -> None:
    def handler(event: Any, context: Any) -> None:
        raise UnknownEvent("no such event")

    function, log = emulator(handler, debug=debug)
    done = function.invoke({})
    assert done.function_error
    assert done.payload == {
        "errorType": "UnknownEvent",
        "errorMessage": "no such event",
        "requestId": done.request_id,
    }
    assert "[ERROR] UnknownEvent: no such event\n" in log.getvalue()
    assert ("Traceback" in log.getvalue()) is debug
    assert len(REPORT.findall(log.getvalue())) == 1


def test_what_the_function_prints_goes_to_the_log_and_not_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    def load() -> Handler:
        print("init line")
        return lambda event, context: print("conversion line")

    log = io.StringIO()
    Emulator(load, log=log).invoke({})
    assert log.getvalue().startswith("init line\nSTART")
    assert "\nconversion line\nEND" in log.getvalue()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("size", "refused"), [(6_291_456 - 2, False), (6_291_456 - 1, True)])
def test_a_request_over_six_megabytes_is_refused_before_the_function_is_called(size: int, refused: bool) -> None:
    calls: list[Any] = []
    function, log = emulator(lambda event, context: calls.append(event))
    event = "x" * size  # as JSON, two quotes more
    if refused:
        with pytest.raises(RequestTooLarge, match="6,291,457 bytes"):
            function.invoke(event)
        assert log.getvalue() == ""
    else:
        function.invoke(event)
    assert len(calls) == (0 if refused else 1)


@pytest.mark.parametrize(
    ("make", "limits", "error"),
    [
        (lambda: "x" * (6_291_556 - 2), True, None),
        (lambda: "x" * (6_291_556 - 1), True, "Function.ResponseSizeTooLarge"),
        (lambda: "é" * (6_291_556 // 2), True, "Function.ResponseSizeTooLarge"),  # bytes, not characters
        (lambda: "x" * 6_291_556, False, None),
        (lambda: {"body": b"bytes"}, True, "Runtime.MarshalError"),
        (lambda: {"body": b"bytes"}, False, "Runtime.MarshalError"),
        (lambda: {"reason": "\ud800"}, True, "Runtime.MarshalError"),
        (lambda: {"reason": "\ud800"}, False, "Runtime.MarshalError"),
    ],
)
def test_a_response_must_be_json_of_at_most_six_megabytes(
    make: Callable[[], Any], limits: bool, error: str | None
) -> None:
    done = emulator(answer(make()), limits=limits)[0].invoke({})
    assert done.function_error is (error is not None)
    assert error is None or done.payload["errorType"] == error


def test_half_of_a_surrogate_pair_may_come_in_as_an_escape() -> None:
    assert emulator(lambda event, context: len(event["key"]))[0].invoke({"key": "\ud800"}).payload == 1


def test_without_limits_a_large_request_reaches_the_function() -> None:
    function, _ = emulator(lambda event, context: len(event), limits=False)
    assert function.invoke("x" * 7_000_000).payload == 7_000_000


def test_ctrl_c_in_the_function_is_not_taken_for_its_error() -> None:
    def handler(event: Any, context: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        emulator(handler)[0].invoke({})
