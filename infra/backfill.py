"""What is to be converted in a bucket: its listing, less what the function would leave, as S3 Batch's manifest.

The listing is streamed: the manifest goes to a temporary file as pages come, so a bucket of millions takes no more
memory than one of ten.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

from infra.aws import Address
from infra.progress import Advance
from infra.reasons import Chosen, Reasons, entries

if TYPE_CHECKING:
    from handler.settings import Settings


@dataclass(slots=True)
class Plan:
    """What a bucket has to convert. `left` counts what it has besides, by REASONS; `digest` is the manifest's."""

    source: Address
    objects: int = 0
    bytes: int = 0
    left: Counter[str] = field(default_factory=Counter)
    digest: str = ""


def make_plan(
    s3: Any, source: Address, settings: Settings, chosen: Chosen, manifest: BinaryIO, advance: Advance
) -> Plan:
    """List `source` and write the manifest. Raises what boto3 raises."""
    plan, digest = Plan(source), hashlib.sha256()
    reason = Reasons(s3, source, settings, chosen)
    for number, entry in enumerate(entries(s3, source), 1):
        if not number % 1000:
            advance(number, None)
        if why := reason(entry):
            plan.left[why] += 1
            continue
        line = manifest_line(source.bucket, entry["Key"])
        digest.update(line)
        manifest.write(line)
        plan.objects += 1
        plan.bytes += entry["Size"]
    plan.digest = digest.hexdigest()
    return plan


def manifest_line(bucket: str, key: str) -> bytes:
    """bucket,key with the key URL-encoded, a space as %20: so it reads the same to whoever takes + for a space."""
    return f"{bucket},{quote(key, safe='/')}\n".encode()
