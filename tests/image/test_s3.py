"""S3 events in the container, against moto's server on a network that has nothing else."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from infra.bench.container import Running, docker
from infra.errors import BadRequest
from tests import s3_events as events
from tests.image.conftest import ROOT, Network, pixels
from tests.s3_server import REGION

READY = sorted((ROOT / "infra/events").glob("s3_*.json"))
KEY, PICTURE = "holiday/my cat.jpg", "anime/holiday/my cat.jpg.cel.jpg"


@pytest.fixture
def bucket(network: Network, photo: bytes) -> Network:
    """A bucket `photos` with the photo that the ready events are about."""
    client = network.client()
    client.create_bucket(Bucket="photos", CreateBucketConfiguration={"LocationConstraint": REGION})
    client.put_object(Bucket="photos", Key=KEY, Body=photo, ContentType="image/jpeg")
    return network


def keys(network: Network) -> list[str]:
    return [found["Key"] for found in network.client().list_objects_v2(Bucket="photos").get("Contents", [])]


def test_every_ready_s3_event_is_answered_and_its_picture_is_made_once(image: str, bucket: Network) -> None:
    with bucket.sandbox(image).running() as function:
        answers = {path.stem: function.invoke(json.loads(path.read_text())) for path in READY}
        made = function.log_lines("conversion")
    assert not [name for name, answer in answers.items() if "errorMessage" in answer]
    assert keys(bucket) == [PICTURE, KEY]
    assert pixels(bucket.client().get_object(Bucket="photos", Key=PICTURE)["Body"].read()).shape == (800, 800, 3)
    assert len([line for line in made if line["error"] is None]) == 1
    assert answers["s3_sqs"] == {"batchItemFailures": []}
    assert answers["s3_batch_v2"]["results"][0]["resultCode"] == "Succeeded"


@pytest.mark.parametrize(
    "path", [path for path in READY if "test_event" not in path.stem], ids=lambda path: path.stem
)
def test_each_ready_s3_event_makes_the_picture_by_itself(image: str, bucket: Network, path: Path) -> None:
    with bucket.sandbox(image, MAX_SIDE="64").running() as function:
        answer = function.invoke(json.loads(path.read_text()))
    assert "errorMessage" not in answer
    assert PICTURE in keys(bucket)


def test_a_container_killed_in_the_middle_leaves_no_half_picture_and_the_retry_makes_it(
    image: str, bucket: Network
) -> None:
    event = events.notification(KEY)
    with bucket.sandbox(image).running() as function:
        killer = threading.Thread(target=kill_while_it_converts, args=[function])
        killer.start()
        with pytest.raises((BadRequest, ValueError)):
            function.invoke(event)
        killer.join()
    assert keys(bucket) == [KEY]
    with bucket.sandbox(image).running() as function:
        answer = function.invoke(event)
    assert "errorMessage" not in answer
    assert keys(bucket) == [PICTURE, KEY]
    assert pixels(bucket.client().get_object(Bucket="photos", Key=PICTURE)["Body"].read()).shape == (800, 800, 3)


def kill_while_it_converts(function: Running) -> None:
    """The conversion takes some two seconds after init."""
    while not function.log_lines("init"):
        time.sleep(0.1)
    time.sleep(0.7)
    docker("kill", "--signal", "KILL", function.id)
