#!/usr/bin/env bash
# beside.sh TARGET... -- COMMAND...: run the command, and make the targets beside it in the processor time that the
# command leaves. What make prints follows the command's output if it fails. The status is 0 if both succeed.
set -uo pipefail
targets=()
while [ "$1" != -- ]; do targets+=("$1"); shift; done
shift
out=$(mktemp)
nice make --no-print-directory "${targets[@]}" >"$out" 2>&1 &
beside=$!
trap 'kill "$beside" 2>/dev/null; rm -f "$out"' EXIT
"$@"
status=$?
echo
if wait "$beside"; then echo "make ${targets[*]}: ok"; else status=1; cat "$out"; fi
exit $status
