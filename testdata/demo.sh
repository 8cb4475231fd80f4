#!/usr/bin/env bash
# The main workflow on an empty machine: serve a directory, upload a tree and a large file to a
# home, interrupt and resume, download them, compare; then make a dataset, read it with two
# trainers, and train with it in a job on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/bin
dir=$(mktemp -d)
server=
job=
finish() {
  status=$?
  if [ -n "$job" ]; then PADDLE_CONFIG=$dir/config "$bin/paddlectl" kill --quiet "$job" 2>/dev/null || true; fi # it has a mount below $dir
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  if [ $status -ne 0 ]; then echo; echo "The demo failed. The service's log:"; tail -n 20 "$dir/pfsd.log" || true; fi
  rm -rf "$dir"
}
trap finish EXIT
say() { printf '\n== %s\n' "$*"; }
export PADDLE_CONFIG=$dir/config
home=/pfs/local/home/alice

say "Start the service on an empty directory"
"$bin/pfsd" serve --data "$dir/data" --listen 127.0.0.1:0 2>"$dir/pfsd.log" &
server=$!
for _ in $(seq 200); do
  endpoint=$(sed -n 's/.*listening on \(https:[^ "]*\).*/\1/p' "$dir/pfsd.log" | head -n 1)
  [ -n "$endpoint" ] && break
  kill -0 "$server"
  sleep 0.05
done
echo "$endpoint"

say "Make two users, and log one in"
echo 'correct horse battery' | "$bin/pfsd" user add alice --data "$dir/data" --password-stdin
echo 'another long password' | "$bin/pfsd" user add bob --data "$dir/data" --password-stdin
echo 'correct horse battery' | "$bin/paddlectl" login --endpoint "$endpoint" --username alice --password-stdin

say "Upload a tree: the sources of this project"
mkdir "$dir/tree"
git ls-files -z 2>/dev/null | xargs -0 cp --parents -t "$dir/tree" 2>/dev/null || cp -r cmd pfs docs README.md "$dir/tree"
"$bin/paddlectl" mkdir "$home/src"
"$bin/paddlectl" cp -r "$dir/tree/" "$home/src/"
"$bin/paddlectl" ls -l "$home/src" | head -n 12
"$bin/paddlectl" du -h -s "$home/src"

say "Upload 1 GiB, interrupted on the way"
head -c 1073741824 /dev/urandom >"$dir/big"
set +e
"$bin/paddlectl" cp --bwlimit 200M "$dir/big" "$home/big" &
client=$!
sleep 2
kill -INT $client
wait $client
status=$?
set -e
echo "exit code $status (130 means interrupted)"
[ $status -eq 130 ]
if "$bin/paddlectl" stat "$home/big" 2>/dev/null; then echo "a half-written file is visible"; exit 1; fi

say "The same command again sends only the rest"
"$bin/paddlectl" cp -v "$dir/big" "$home/big"

say "Bring both back and compare"
"$bin/paddlectl" cp -r "$home/src/" "$dir/back/"
"$bin/paddlectl" cp "$home/big" "$dir/big.back"
diff -r "$dir/tree" "$dir/back" && echo "the tree is the same"
cmp "$dir/big" "$dir/big.back" && echo "the large file is the same"
"$bin/paddlectl" verify "$dir/big" "$home/big"

say "Make a dataset of the UCI housing table, and upload it"
"$bin/paddlectl" dataset convert --output-path "$dir/dataset" --name-prefix uci_housing_train --line-count 10 \
  --no-header --delimiter space --label 14 recordio/convert/testdata/housing/housing.data
"$bin/paddlectl" cp -r "$dir/dataset" "$home/"
"$bin/paddlectl" dataset verify "$home/dataset"

say "Two trainers read it, each its own half"
for trainer in 0 1; do
  PADDLE_INIT_TRAINER_ID=$trainer PADDLE_INIT_NUM_GRADIENT_SERVERS=2 \
    "$bin/paddlectl" dataset shard --policy range --read "$home/dataset" >"$dir/trainer$trainer"
  echo "trainer $trainer: $(wc -l <"$dir/trainer$trainer") records, the first $(head -n 1 "$dir/trainer$trainer")"
done
"$bin/paddlectl" dataset cat "$home/dataset" | cmp - <(cat "$dir/trainer0" "$dir/trainer1") && echo "together they have all, once"

say "Train a line with it: two trainers and a parameter server on this machine"
if command -v python3 >/dev/null; then
  export XDG_STATE_HOME=$dir/state XDG_CACHE_HOME=$dir/cache
  # Programs see /pfs by a mount, or else by a directory that looks like one.
  if [ ! -w /dev/fuse ]; then
    mkdir "$dir/pfs" && ln -s "$dir/data/store" "$dir/pfs/local"
    export PFS_ROOT=$dir/pfs
  fi
  mkdir "$dir/package"
  cp testdata/fit_a_line/train.py "$dir/package/"
  cp -r python/recordio "$dir/package/"
  job=fit-a-line
  "$bin/paddlectl" submit -jobname $job -parallelism 2 -pservers 1 -passes 10 -entry "python3 train.py" \
    --env DATASET="$home/dataset" --follow "$dir/package"
  "$bin/paddlectl" get outputs $job
  "$bin/paddlectl" ls "$home/jobs/$job/attempts/1/trainer-0"
  "$bin/paddlectl" delete $job
  job=
else
  echo "left out: there is no python3 here"
fi

say "Another user is refused"
export PADDLE_CONFIG=$dir/config-bob
echo 'another long password' | "$bin/paddlectl" login --endpoint "$endpoint" --username bob --password-stdin
set +e
"$bin/paddlectl" ls "$home"
status=$?
set -e
echo "exit code $status (4 means denied)"
[ $status -eq 4 ]

say "Done"
