#!/usr/bin/env bash
# venv.sh [test|frameworks|torch|huggingface|paddle] prints the path of a Python with the packages of requirements-NAME.txt.
# The first call installs them into the user's cache, which all checkouts share. It also builds the extension of this
# checkout, in place. Without a C compiler the package works without it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
list=$here/requirements-${1:-test}.txt
python=${PYTHON:-python3}
key=$({ "$python" -c 'import sys; print(sys.version, sys.base_prefix)'; cat "$list" "$here/requirements-test.txt"; } | sha256sum | cut -c1-12)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/pfs-python/${1:-test}-$key
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock 9
if [ ! -e "$dir/complete" ]; then
  rm -rf "$dir"
  "$python" -m venv "$dir" >&2
  "$dir/bin/python" -m pip install --quiet --disable-pip-version-check -r "$list" >&2
  touch "$dir/complete"
fi
if [ "${1:-test}" != test ]; then
  "$here/venv.sh" test >/dev/null # builds the extension
else
  exec 8<"$here/recordio"
  flock 8
  extension=$here/recordio/native.abi3.so
  sum=$(cat "$here/recordio/native.c" "$here/setup.py" | sha256sum)
  if [ ! -e "$extension" ] || [ "$sum" != "$(cat "$extension.sum" 2>/dev/null)" ]; then
    header=$("$dir/bin/python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
    if [ "${CI:-}" = true ] && { ! command -v cc >/dev/null || [ ! -e "$header" ]; }; then
      apt-get install -y -qq --no-install-recommends gcc libc6-dev python3-dev >&2
    fi
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
    (cd "$here" && "$dir/bin/python" setup.py --quiet build_ext --build-lib "$out" --build-temp "$out" >&2)
    if [ -e "$out/recordio/native.abi3.so" ]; then
      mv "$out/recordio/native.abi3.so" "$extension"
      echo "$sum" >"$extension.sum"
    else
      rm -f "$extension" # it is of other sources
    fi
  fi
fi
echo "$dir/bin/python"
