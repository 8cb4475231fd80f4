#!/usr/bin/env bash
# beside.sh TARGET... -- COMMAND...: run the command, and at the same time make the targets with the
# remaining processor time. If make fails its output follows that of the command. The status is 0 if
# both succeed.
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
