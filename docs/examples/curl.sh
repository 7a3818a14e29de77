#!/bin/sh
# photo.jpg in this folder becomes anime.webp, then answer.json with the picture in it, then form.jpg.
set -eu
url=${ANIMEGAN_URL:-http://127.0.0.1:8000}

# The photo as it is, and the picture as it is.
curl -sS --fail-with-body --data-binary @photo.jpg -H 'Content-Type: image/jpeg' -H 'Accept: image/*' \
    "$url/convert?size=800&format=webp" -o anime.webp

# Base64 in JSON; the answer has size, milliseconds of each stage, and warnings beside the picture.
printf '{"image": "%s", "size": 800, "format": "png"}' "$(base64 < photo.jpg | tr -d '\n')" |
    curl -sS --fail-with-body -H 'Content-Type: application/json' --data-binary @- "$url/convert" -o answer.json

# A form, as a web page sends it.
curl -sS --fail-with-body -F file=@photo.jpg -F size=800 -H 'Accept: image/*' "$url/convert" -o form.jpg
