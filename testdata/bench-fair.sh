#!/usr/bin/env bash
# Measure how one user at full load affects another: the latency of the other's stat and
# login, and the memory of pfsd, for each kind of load, as a table in Markdown. The load
# comes from a separate process at nice 19, so that only the service is measured.
#   RUNS=1        number of runs
#   SECS=10       seconds per row
#   NAMES=500000  names in the large directory
#   ONLY=         a regular expression: only kinds that match, such as 'digest|list'
set -euo pipefail
cd "$(dirname "$0")/.."
RUNS=${RUNS:-1} SECS=${SECS:-10} NAMES=${NAMES:-500000} ONLY=${ONLY:-}
dir=$(mktemp -d "${TMPDIR:-/tmp}/bench-fair.XXXXXX")
trap 'rm -rf "$dir"' EXIT
go build -o "$dir/bench-fair" ./testdata/bench-fair
for _ in $(seq "$RUNS"); do
  TMPDIR=$dir "$dir/bench-fair" -pfsd bin/pfsd -seconds "$SECS" -names "$NAMES" -only "$ONLY"
  echo
done
