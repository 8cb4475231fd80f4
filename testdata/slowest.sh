#!/usr/bin/env bash
# slowest.sh COMMAND...: run "go test", and list the ten slowest packages.
set -uo pipefail
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$@" 2>&1 | tee "$out"
status=$?
echo
echo "The ten slowest packages:"
awk '$1 == "ok" || $1 == "FAIL" { for (i = 3; i <= NF; i++) if ($i ~ /^[0-9.]+s$/) print $i, $2 }' "$out" | sort -rn | head -n 10
exit $status
