#!/bin/sh
# BUCKET=my-photos sh s3_upload.sh: photo.jpg in this folder becomes anime.jpg.
set -eu
aws s3 cp photo.jpg "s3://$BUCKET/photos/photo.jpg" --metadata '{"animegan-options": "{\"size\": 800}"}'
aws s3api wait object-exists --bucket "$BUCKET" --key anime/photos/photo.jpg.cel.jpg
aws s3 cp "s3://$BUCKET/anime/photos/photo.jpg.cel.jpg" anime.jpg
