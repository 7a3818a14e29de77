"""python s3_upload.py PHOTO BUCKET PICTURE: upload, wait for the picture, download it."""

import json
import sys
from pathlib import PurePath

import boto3
from boto3.exceptions import Boto3Error
from botocore.exceptions import BotoCoreError, ClientError

s3 = boto3.client("s3")


def convert(photo: str, bucket: str, picture: str, style: str = "cel") -> None:
    """Raises WaiterError where no picture comes within five minutes: the function's log says why."""
    key = f"photos/{PurePath(photo).name}"
    options = json.dumps({"style": style, "size": 800})  # optional, as all of POST /convert but the image
    s3.upload_file(photo, bucket, key, ExtraArgs={"Metadata": {"animegan-options": options}})
    suffix = {".jpg": "jpg", ".jpeg": "jpg", ".webp": "webp"}.get(PurePath(key).suffix.lower(), "png")
    target = f"anime/{key}.{style}.{suffix}"
    s3.get_waiter("object_exists").wait(Bucket=bucket, Key=target, WaiterConfig={"Delay": 1, "MaxAttempts": 300})
    s3.download_file(bucket, target, picture)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        convert(*sys.argv[1:])
    except (OSError, Boto3Error, BotoCoreError, ClientError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
