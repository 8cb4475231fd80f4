#!/usr/bin/env bash
# Measure the Python package beside ArrayRecord, tfrecord, webdataset and MosaicML Streaming, with the
# datasets that bin/paddlectl makes (make build). Print a table in Markdown.
# Beside each figure is the goal for it, if there is one. Run it on an idle machine.
#   RUNS=3          processes per row, all rows in turn; the table has the medians
#   RECORDS=100000  of about 1 KB
#   ONLY=           a regular expression: only rows whose name matches
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(python/venv.sh bench)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bench-python.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
# Compiled modules are kept, as in an installation.
env -u PYTHONDONTWRITEBYTECODE PYTHONPATH="$PWD/python" PYTHONPYCACHEPREFIX="$tmp/bytecode" "$python" -W ignore testdata/bench-python.py "$tmp" "${PADDLECTL:-bin/paddlectl}"
