#!/usr/bin/env bash
# Measure the Python package beside ArrayRecord, tfrecord, webdataset and MosaicML Streaming, with the
# datasets that bin/paddlectl makes (make build). Print a table in Markdown.
#   RUNS=3          processes per row; the table has the medians
#   RECORDS=100000  of about 1 KB
#   ONLY=           a regular expression: only rows whose name matches
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(python/venv.sh bench)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bench-python.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 "$python" -W ignore testdata/bench-python.py "$tmp" "${PADDLECTL:-bin/paddlectl}"
