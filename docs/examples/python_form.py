"""python python_form.py PHOTO PICTURE: a photo as a form's file, with httpx (or requests, which is alike)."""

import os
import sys
from pathlib import Path

import httpx

URL = os.environ.get("ANIMEGAN_URL", "http://127.0.0.1:8000")


def convert(photo: Path, **parameters: str | int) -> bytes:
    """The picture. Raises RuntimeError with the service's own words."""
    with photo.open("rb") as file:
        answer = httpx.post(
            f"{URL}/convert",
            files={"file": (photo.name, file)},
            data={name: str(value) for name, value in parameters.items()},
            headers={"Accept": "image/*"},
            timeout=60,
        )
    if answer.is_error:
        if answer.headers.get("Content-Type") != "application/problem+json":  # of a gateway before it
            raise RuntimeError(f"HTTP {answer.status_code}: {answer.reason_phrase}")
        problem = answer.json()
        raise RuntimeError(f"{problem['code']}: {problem['detail']}")
    return answer.content


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = map(Path, sys.argv[1:])
    try:
        target.write_bytes(convert(source, size=800, format="webp", quality=85))
    except httpx.HTTPError as error:
        sys.exit(f"{URL}: {error}")
    except (OSError, RuntimeError) as error:
        sys.exit(f"{source}: {error}")
