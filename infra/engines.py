"""The one call to AWS that starts a backfill, on either of AWS's own engines; nothing is fanned out here.

Both calls carry a name that follows from what is to be done, so the same start twice is one job: AWS answers
with the one that it has, or refuses. `attempt` makes another of the same.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, BinaryIO

from infra.aws import Address, client
from infra.backfill import Plan

DIGITS = 32  # of the digest in names: 128 bits
LATER = "(known at --start)"
SPEC = {"Format": "S3BatchOperations_CSV_20180820", "Fields": ["Bucket", "Key"]}
PRIORITY = 10  # among the account's jobs, the higher the sooner


@dataclass(frozen=True, slots=True)
class Call:
    """One call of boto3's, in its own words."""

    service: str
    operation: str
    region: str | None
    parameters: dict[str, Any]

    def make(self) -> dict[str, Any]:
        """Raises what boto3 raises."""
        answer: dict[str, Any] = getattr(client(self.service, self.region), self.operation)(**self.parameters)
        return answer


@dataclass(frozen=True, slots=True)
class Job:
    """An S3 Batch Operations job. `manifest` and `report` are folders; `confirm` keeps it waiting for a person."""

    function: str
    role: str
    manifest: Address
    report: Address
    style: str | None = None
    confirm: bool = True
    attempt: int = 1

    def manifest_of(self, plan: Plan) -> Address:
        """Named by its content."""
        return Address(self.manifest.bucket, f"{self.manifest.key}{plan.digest[:DIGITS]}.csv")

    def call(self, plan: Plan, account: str, etag: str = LATER, version: str | None = None) -> Call:
        """create_job. With the same manifest, function and style it is the same job."""
        location = {"ObjectArn": self._arn(self.manifest_of(plan)), "ETag": etag}
        location |= {"ObjectVersionId": version} if version else {}
        parameters = {
            "AccountId": account,
            "ClientRequestToken": _digest(plan.digest, self.function, self.style, self.attempt),
            "ConfirmationRequired": self.confirm,
            "Description": _printable(f"animegan backfill of {plan.source}"),
            "Manifest": {"Spec": SPEC, "Location": location},
            "Operation": {"LambdaInvoke": self._invoke()},
            "Priority": PRIORITY,
            "Report": self._report(),
            "RoleArn": self.role,
        }
        return Call("s3control", "create_job", _place(self.function)[1], parameters)

    def account(self) -> str:
        """Whose job it will be. Raises what boto3 raises."""
        return str(client("sts", _place(self.function)[1]).get_caller_identity()["Account"])

    def upload(self, s3: Any, plan: Plan, manifest: BinaryIO) -> tuple[str, str | None]:
        """(ETag, version). One that is there is taken: with KMS, the same bytes get another ETag each time."""
        from botocore.exceptions import ClientError

        where = {"Bucket": self.manifest.bucket, "Key": self.manifest_of(plan).key}
        try:
            there = s3.head_object(**where)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] not in (403, 404):  # 403: no s3:ListBucket
                raise
            manifest.seek(0)
            there = s3.put_object(**where, Body=manifest, ContentType="text/csv")
        return there["ETag"].strip('"'), there.get("VersionId")

    def _invoke(self) -> dict[str, Any]:
        named = {"UserArguments": {"style": self.style}} if self.style else {}
        return {"FunctionArn": self.function, "InvocationSchemaVersion": "2.0", **named}

    def _report(self) -> dict[str, Any]:
        folder = self.report.key.rstrip("/")  # S3 puts a slash itself
        said = {"Enabled": True, "Format": "Report_CSV_20180820", "ReportScope": "FailedTasksOnly"}
        return {"Bucket": self._arn(self.report.bucket), **said, **({"Prefix": folder} if folder else {})}

    def _arn(self, place: Address | str) -> str:
        path = place if isinstance(place, str) else f"{place.bucket}/{place.key}"
        return f"arn:{_place(self.function)[0]}:s3:::{path}"


def execution(plan: Plan, machine: str, style: str | None, attempt: int) -> Call:
    """start_execution; the state machine lists the bucket itself."""
    said = {"bucket": plan.source.bucket, "prefix": plan.source.key} | ({"style": style} if style else {})
    name = f"backfill-{_digest(plan.digest, machine, style, attempt)}"
    parameters = {"stateMachineArn": machine, "name": name, "input": json.dumps(said, ensure_ascii=False)}
    return Call("stepfunctions", "start_execution", _place(machine)[1], parameters)


def _place(arn: str) -> tuple[str, str | None]:
    """(partition, region) of an ARN; of none, the usual ones."""
    parts = arn.split(":")
    return (parts[1], parts[3]) if len(parts) > 3 else ("aws", None)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:DIGITS]


def _printable(text: str) -> str:
    return "".join(letter if letter.isascii() and letter.isprintable() else "?" for letter in text)[:256]
