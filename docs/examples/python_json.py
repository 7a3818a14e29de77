"""python python_json.py PHOTO PICTURE: a photo as base64 in JSON, with the standard library alone."""

import base64
import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

URL = os.environ.get("ANIMEGAN_URL", "http://127.0.0.1:8000")


def convert(photo: bytes, **parameters: Any) -> dict[str, Any]:
    """The answer, `image` in it decoded. Waits as long as it is told to where the service is busy."""
    body = json.dumps({"image": base64.b64encode(photo).decode(), **parameters}).encode()
    request = urllib.request.Request(f"{URL}/convert", body, {"Content-Type": "application/json"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                answer = json.load(response)
            return {**answer, "image": base64.b64decode(answer["image"])}
        except urllib.error.HTTPError as error:
            problem = told(error)
            if problem["code"] != "busy":
                raise RuntimeError(f"{problem['code']}: {problem['detail']}") from None
            time.sleep(float(error.headers["Retry-After"]))


def told(error: urllib.error.HTTPError) -> dict[str, str]:
    """The service's own words, or a gateway's status: those before it answer, too."""
    if error.headers.get_content_type() == "application/problem+json":
        return dict(json.load(error))
    return {"code": f"HTTP {error.code}", "detail": error.reason}


def main(source: Path, target: Path) -> None:
    answer = convert(source.read_bytes(), size=800, format="png")
    target.write_bytes(answer["image"])
    print(f"{target}: {answer['width']}×{answer['height']} in {answer['timings']['total']:.0f} ms")
    for warning in answer["warnings"]:
        print(f"warning: {warning}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    except urllib.error.URLError as error:
        sys.exit(f"{URL}: {error.reason}")
    except (OSError, RuntimeError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
