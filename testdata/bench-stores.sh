#!/usr/bin/env bash
# Speed and memory on a real HDFS and a real CephFS of its own, as testbed.sh starts them.
# First the store packages beside the raw libraries and Hadoop's own client (go test
# -bench: rates in turn, medians), then the real programs, with TLS, verification and
# durable writes, beside rclone's remote for HDFS; medians as Markdown.
#   RUNS=3      counted runs of each row
#   SIZE=1024   MiB of the large file that the programs copy
#   FILES=5000  small files of 16 KiB
#   MANY=64     parallel transfers for the memory row, half to each store; 0 leaves it out
#   EACH=64     MiB of each of them
#   PARTS='packages programs'   what is measured
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/bin
RUNS=${RUNS:-3} SIZE=${SIZE:-1024} FILES=${FILES:-5000} MANY=${MANY:-64} EACH=${EACH:-64} PARTS=${PARTS:-packages programs}
dir=$(mktemp -d "${TMPDIR:-/tmp}/pfs-bench.XXXXXX")
mine=${PFS_TESTBED_DIR:+no}
export PFS_TESTBED_DIR=${PFS_TESTBED_DIR:-$dir/testbed} PADDLE_CONFIG=$dir/config
server=
cleanup() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  [ "$mine" = no ] || testdata/testbed/testbed.sh down || true
  rm -rf "$dir"
}
trap cleanup EXIT
ctl() { "$bin/paddlectl" "$@"; }

echo "$(nproc) processors, $(go version | cut -d' ' -f3-), $RUNS runs in turn."
testdata/testbed/testbed.sh up >"$dir/up"
value() { sed -n "s/^$1=//p" "$dir/up"; }

packages() {
  local p
  for p in hdfsfs cephfs; do
    echo
    go test ${TAGS:+"-tags=$TAGS"} -count=1 -timeout 60m -run '^$' -bench 'Write$|Read$|SmallFiles$' -benchtime "${RUNS}x" "./pfs/$p" |
      awk -v p="$p" '/^Benchmark/ { for (i = 3; i < NF; i += 2) if ($(i+1) != "ns/op") print p, $1, $(i+1), $i; next }
        /SKIP|FAIL|^---/ { print }'
  done
}

# row NAME COMMAND...: one timed run, kept under NAME.
row() {
  local name=$1 t0 t1
  shift
  sync
  t0=$(date +%s.%N)
  "$@" >/dev/null 2>"$dir/err" || { echo "$name failed:" >&2; cat "$dir/err" >&2; exit 1; }
  t1=$(date +%s.%N)
  echo "$t1 $t0" | awk '{printf "%.3f\n", $1 - $2}' >>"$dir/row.$name"
}
median() { sort -n "$dir/row.$1" | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
# line NAME TEXT BASE: a line of the table; the last column is BASE's median over this one's.
line() {
  [ -f "$dir/row.$1" ] || { echo "| $2 | not measured: rclone is not installed | | |"; return; }
  echo "$(median "$1") $(sort -n "$dir/row.$1" | sed -n '1p;$p' | tr '\n' ' ') $([ ! -f "$dir/row.$3" ] || median "$3")" |
    awk -v text="$2" '{printf "| %s | %.2f | %.2f to %.2f | %s |\n", text, $1, $2, $3, $4 == "" ? "-" : sprintf("%.2f", $4 / $1)}'
}
rc() { rclone --config /dev/null --transfers 16 "$@"; }

serve() {
  sed -n '/^datacenters:/,$p' "$dir/up" >"$dir/pfsd.yaml"
  "$bin/pfsd" serve --data "$dir/data" --config "$dir/pfsd.yaml" --listen 127.0.0.1:0 2>"$dir/pfsd.log" &
  server=$!
  until grep -q 'listening on' "$dir/pfsd.log"; do sleep 0.05; kill -0 "$server"; done
  local endpoint
  endpoint=$(sed -n 's/.*listening on \(https:[^ "]*\).*/\1/p' "$dir/pfsd.log")
  echo 'correct horse battery' | "$bin/pfsd" user add bench --data "$dir/data" --password-stdin 2>/dev/null
  echo 'correct horse battery' | ctl login --endpoint "$endpoint" --username bench --password-stdin >/dev/null 2>&1
}

programs() {
  local i s remote k
  remote=":hdfs,namenode='$(value NAMENODES)',username=$(id -un):/rclone"
  serve
  head -c $((SIZE << 20)) /dev/urandom >"$dir/big"
  mkdir "$dir/small"
  for i in $(seq "$FILES"); do head -c 16384 "$dir/big" >"$dir/small/f$i"; done
  for i in $(seq "$RUNS"); do
    for s in hdfs ceph; do
      row "$s-up" ctl cp "$dir/big" "/pfs/$s/home/bench/big"
      row "$s-down" ctl cp "/pfs/$s/home/bench/big" "$dir/down"
      cmp "$dir/big" "$dir/down"
      row "$s-small" ctl cp -r "$dir/small" "/pfs/$s/home/bench/small$i"
      ctl rm -r "/pfs/$s/home/bench/big" "/pfs/$s/home/bench/small$i" >/dev/null
      rm "$dir/down"
    done
    if command -v rclone >/dev/null; then
      row rc-up rc copyto -I "$dir/big" "$remote/big"
      row rc-down rc copyto -I "$remote/big" "$dir/down"
      row rc-small rc copy "$dir/small" "$remote/small$i"
      rc purge "$remote"
      rm "$dir/down"
    fi
  done
  echo
  echo "| HDFS, one file of $SIZE MiB | median s | least to most | speed against rclone |"
  echo "|---|---|---|---|"
  line hdfs-up "paddlectl up, verified" rc-up
  line rc-up "rclone up" rc-up
  line hdfs-down "paddlectl down, verified, synced" rc-down
  line rc-down "rclone down" rc-down
  echo
  echo "| HDFS, $FILES files of 16 KiB | median s | least to most | speed against rclone |"
  echo "|---|---|---|---|"
  line hdfs-small "paddlectl up, verified" rc-small
  line rc-small "rclone up, 16 at once" rc-small
  echo
  echo "| CephFS | median s | least to most | |"
  echo "|---|---|---|---|"
  line ceph-up "paddlectl up, $SIZE MiB, verified, durable" none
  line ceph-down "paddlectl down, $SIZE MiB, verified, synced" none
  line ceph-small "paddlectl up, $FILES files of 16 KiB, verified, durable" none
  [ "$MANY" = 0 ] || memory
}

# memory moves many files at once, half to each store.
memory() {
  local transfers=() k s
  truncate -s "${EACH}M" "$dir/one"
  for k in $(seq "$MANY"); do
    s=hdfs; [ $((k % 2)) = 0 ] || s=ceph
    ctl cp "$dir/one" "/pfs/$s/home/bench/one$k" >/dev/null 2>"$dir/err.$k" & transfers+=($!)
  done
  for k in "${transfers[@]}"; do wait "$k" || { cat "$dir"/err.* >&2; exit 1; }; done
  echo
  echo "$MANY parallel transfers of $EACH MiB, half to each store: pfsd $(awk '/VmHWM/ {printf "%.0f", $2 / 1024}' "/proc/$server/status") MiB resident at most."
}

for part in $PARTS; do $part; done
