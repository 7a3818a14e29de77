"""S3's many errors, and boto3's, sorted into our few."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from handler.errors import (
    AccessDenied,
    SourceArchived,
    SourceChanged,
    SourceMissing,
    StorageError,
    StorageRefused,
    StorageUnavailable,
)
from handler.objects import S3Object

# Besides 429 and every 5xx. Credentials that have expired are renewed by the next attempt; InvalidRange is the
# answer to a question of ours about an empty object (Storage.head).
TRANSIENT = {
    *("RequestTimeout", "RequestTimeTooSkewed", "ExpiredToken", "TokenRefreshRequired"),
    *("Throttling", "ThrottlingException", "SlowDown", "OperationAborted", "InvalidRange"),
}
BY_STATUS: dict[int, type[StorageError]] = {
    401: AccessDenied,
    403: AccessDenied,
    404: SourceMissing,
    405: SourceMissing,  # a HEAD of a delete marker's version
    409: StorageUnavailable,
    412: SourceChanged,
    429: StorageUnavailable,
}
# A write's condition does not hold: another one came between, or what was to be replaced is gone.
CONFLICTS = {("PutObject", "ConditionalRequestConflict"), ("PutObject", "NoSuchKey")}


@contextmanager
def translated(about: S3Object) -> Iterator[None]:
    """Raises StorageErrors instead of boto3's."""
    try:
        yield
    except ClientError as error:
        raise _storage_error(error, about) from error
    except ParamValidationError as error:
        raise StorageRefused(f"{about} cannot be the name of an object: {error}".replace("\n", " ")) from error
    except BotoCoreError as error:  # timeouts, cut connections, bodies that end early, no credentials
        raise StorageUnavailable(f"{about}: {error}") from error


def status_of(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _storage_error(error: ClientError, about: S3Object) -> StorageError:
    code, status = str(error.response.get("Error", {}).get("Code", "")), status_of(error)
    operation = error.operation_name
    said = f"{about}: {code} ({status}) on {operation}"
    # A HEAD's 400 says nothing, and GET, which was asked then, found nothing wrong.
    if code in TRANSIENT or status >= 500 or (operation, status) == ("HeadObject", 400):
        return StorageUnavailable(f"{said}; try again.")
    if (operation, code) in CONFLICTS:
        return SourceChanged(f"{said}.")
    if code == "InvalidObjectState":
        return SourceArchived(f"{said}: restore it from its archive first, then convert it.")
    kind = BY_STATUS.get(status, StorageRefused)
    if operation == "PutObject" and kind is SourceMissing:
        kind = StorageRefused  # the bucket for pictures is missing, not the photo
    hint = "; without s3:ListBucket that is also S3's answer for a missing object" if kind is AccessDenied else ""
    return kind(f"{said}{hint}.")
