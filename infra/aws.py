"""boto3's clients for the command line, and its errors in one line. boto3 is imported when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from infra.errors import AwsRefused, BadRequest

CREDENTIALS = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`"
REGION = "set AWS_REGION, or a region in the profile"


@dataclass(frozen=True, slots=True)
class Address:
    """s3://bucket/key, or a prefix instead of a key."""

    bucket: str
    key: str = ""

    @classmethod
    def parse(cls, text: str) -> Address:
        """Raises BadRequest."""
        scheme, _, rest = text.partition("://")
        bucket, _, key = rest.partition("/")
        if scheme != "s3" or not bucket:
            raise BadRequest(f"{text!r} is no place in S3: write s3://BUCKET or s3://BUCKET/PREFIX")
        return cls(bucket, key)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"


def client(service: str, region: str | None = None) -> Any:
    """In `region`, else in the environment's. Raises boto3's errors, and BadRequest for no address."""
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    config = Config(retries={"mode": "standard", "total_max_attempts": 5})
    try:
        return boto3.client(service, region_name=region, config=config)
    except BotoCoreError:  # some are ValueErrors too
        raise
    except ValueError as error:
        raise BadRequest(_line(f"AWS_ENDPOINT_URL, or AWS_ENDPOINT_URL_… of {service}: {error}")) from error


@contextmanager
def told() -> Iterator[None]:
    """Raises AwsRefused instead of what boto3 raises."""
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        NoCredentialsError,
        NoRegionError,
        PartialCredentialsError,
        ProfileNotFound,
    )

    try:
        yield
    except ClientError as error:
        said = error.response.get("Error", {})
        why = f"{said.get('Code', 'no code')}: {said.get('Message') or 'no reason given'}"
        raise AwsRefused(_line(f"AWS refuses {error.operation_name}: {why}")) from error
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise AwsRefused(f"no AWS credentials: {CREDENTIALS}") from error
    except NoRegionError as error:
        raise AwsRefused(f"no AWS region: {REGION}") from error
    except ProfileNotFound as error:
        raise AwsRefused(_line(f"AWS_PROFILE: {error}")) from error
    except BotoCoreError as error:
        raise AwsRefused(_line(f"AWS could not be asked: {error}")) from error


def _line(text: str) -> str:
    return " ".join(text.split())
