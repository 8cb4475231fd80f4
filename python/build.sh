#!/usr/bin/env bash
# build.sh DIR builds the wheel and the sdist into DIR.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$("$here/venv.sh" test)
mkdir -p "$1"
out=$(cd "$1" && pwd)
src=$(mktemp -d)
trap 'rm -rf "$src"' EXIT
cp -r "$here"/{setup.py,pyproject.toml,MANIFEST.in,README.md,cPickle.py,recordio} "$src"
cd "$src"
find . -name __pycache__ -prune -exec rm -rf {} +
"$python" -m build --no-isolation --outdir "$out" . >"$src/log" 2>&1 || { cat "$src/log" >&2; exit 1; }
ls "$out"/paddle_recordio-*
"$python" -m zipfile --list "$out"/paddle_recordio-*-cp310-abi3-*.whl | grep --quiet native.abi3.so || { cat "$src/log" >&2; exit 1; }
