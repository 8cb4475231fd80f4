#!/usr/bin/env bash
# Measure the record library and conversion, and the memory of converting large files with
# the built paddlectl (bin/, make build). Print tables in Markdown.
#   RECORDIO_REFERENCE  a clone of https://github.com/PaddlePaddle/recordio, to measure it in
#                       turn with ours. It has no go.mod; a copy gets one, and the go.mod
#                       here is not changed.
#   RUNS=5      processes per row
#   ONLY=       a regular expression: only rows whose name matches, such as 'read|memory'
#   SIZE=2048   MiB of the files for the memory rows; 0 omits them
set -euo pipefail
cd "$(dirname "$0")/.."
RUNS=${RUNS:-5} ONLY=${ONLY:-} SIZE=${SIZE:-2048}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bench-data.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

flags=()
if [ -n "${RECORDIO_REFERENCE:-}" ]; then
  mkdir "$tmp/reference"
  git -C "$RECORDIO_REFERENCE" archive HEAD | tar -x -C "$tmp/reference"
  snappy=$(go list -m -f '{{.Path}} {{.Version}}' github.com/golang/snappy)
  printf 'module github.com/PaddlePaddle/recordio\n\ngo 1.21\n\nrequire %s\n' "$snappy" >"$tmp/reference/go.mod"
  cp go.mod go.sum "$tmp/"
  go mod edit -require=github.com/PaddlePaddle/recordio@v0.0.0 -replace="github.com/PaddlePaddle/recordio=$tmp/reference" "$tmp/go.mod"
  flags=(-tags=reference "-modfile=$tmp/go.mod")
  echo "PaddlePaddle/recordio $(git -C "$RECORDIO_REFERENCE" rev-parse --short HEAD), with ${snappy#*/}, is measured in turn."
fi
go build "${flags[@]}" -o "$tmp/bench-data" ./testdata/bench-data
GOROOT=$(go env GOROOT) "$tmp/bench-data" -runs "$RUNS" -only "$ONLY" -size "$SIZE" -paddlectl bin/paddlectl
