#!/usr/bin/env bash
# Speed and memory on a real HDFS and a real CephFS of its own, as testbed.sh starts them.
# First the store packages beside the raw libraries and Hadoop's own client (go test
# -bench: rates in turn, medians), then the real programs, with TLS, verification and
# durable writes, beside rclone's remote for HDFS and Hadoop's client; medians as Markdown.
# What all rows of a table have in common: they are taken in turn, after a turn that is
# not counted, with real data. A peer that is not there is named.
#   RUNS=3      counted runs of each row
#   SIZE=1024   MiB of the large file that the programs copy
#   FILES=5000  small files of 16 KiB
#   MANY=64     parallel transfers for the memory row, half to each store
#   EACH=64     MiB of each of them
#   PARTS='packages large small memory'   what is measured
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/bin
RUNS=${RUNS:-3} SIZE=${SIZE:-1024} FILES=${FILES:-5000} MANY=${MANY:-64} EACH=${EACH:-64} PARTS=${PARTS:-packages large small memory}
dir=$(mktemp -d "${TMPDIR:-/tmp}/pfs-bench.XXXXXX")
mine=${PFS_TESTBED_DIR:+no}
export PFS_TESTBED_DIR=${PFS_TESTBED_DIR:-$dir/testbed} PADDLE_CONFIG=$dir/config
server='' round=0
cleanup() {
  trap '' INT TERM
  jobs -p | xargs -r kill 2>/dev/null || true
  wait
  [ "$mine" = no ] || testdata/testbed/testbed.sh down || true
  rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
ctl() { "$bin/paddlectl" "$@"; }
rc() { rclone --config /dev/null --transfers 16 "$@"; }
rcsync() { rc copyto -I "$1" "$2" && sync "$2" "$(dirname "$2")"; }
# hadoop is Hadoop's own client, with all of Java's compilers.
hadoop() { HDFS_DIR=$(value HDFS_DIR) _JAVA_OPTIONS=-XX:TieredStopAtLevel=4 testdata/testbed/hdfs.sh fs "$@" 2>"$dir/err" || { cat "$dir/err" >&2; exit 1; }; }
value() { sed -n "s/^$1=//p" "$dir/up"; }

no_rclone=
command -v rclone >/dev/null || no_rclone='rclone is not installed'

# use_memory fills what memory is free with clean pages: see bench.sh.
use_memory() {
  local free
  free=$(awk '/MemFree/ {print int($2 / 1024) - 512}' /proc/meminfo)
  [ "$free" -gt 0 ] || return 0
  truncate -s "${free}M" "$dir/fill"
  cat "$dir/fill" >/dev/null
  rm "$dir/fill"
}

# note NAME SECONDS keeps the time of a row, if its turn counts.
note() { [ "$round" = 0 ] || echo "$2" >>"$dir/row.$1"; }

# row NAME COMMAND...: one timed run, kept under NAME.
row() {
  local name=$1 t0 t1
  shift
  sync
  use_memory
  t0=$(date +%s.%N)
  "$@" >/dev/null 2>"$dir/err" || { echo "$name failed:" >&2; cat "$dir/err" >&2; exit 1; }
  t1=$(date +%s.%N)
  note "$name" "$(echo "$t1 $t0" | awk '{printf "%.3f\n", $1 - $2}')"
}
median() { sort -n "$dir/row.$1" | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
# line NAME TEXT BASE: a line of the table; the last column is BASE's median over this one's.
line() {
  [ -f "$dir/row.$1" ] || { echo "| $2 | not measured: $no_rclone | | |"; return; }
  echo "$(median "$1") $(sort -n "$dir/row.$1" | sed -n '1p;$p' | tr '\n' ' ') $([ ! -f "$dir/row.$3" ] || median "$3")" |
    awk -v text="$2" '{printf "| %s | %.2f | %.2f to %.2f | %s |\n", text, $1, $2, $3, $4 == "" ? "-" : sprintf("%.2f", $4 / $1)}'
}
head_of() { printf '\n| %s | median s | least to most | %s |\n|---|---|---|---|\n' "$1" "$2"; }

packages() {
  local p
  for p in hdfsfs cephfs; do
    echo
    go test ${TAGS:+"-tags=$TAGS"} -count=1 -timeout 60m -run '^$' -bench 'Write$|Read$|SmallFiles$' -benchtime "${RUNS}x" "./pfs/$p" |
      awk -v p="$p" '/^Benchmark/ { for (i = 3; i < NF; i += 2) if ($(i+1) != "ns/op") print p, $1, $(i+1), $i; next }
        /SKIP|FAIL|^---/ { print }'
  done
}

# serve starts the service the first time.
serve() {
  [ -z "$server" ] || return 0
  sed -n '/^datacenters:/,$p' "$dir/up" >"$dir/pfsd.yaml"
  "$bin/pfsd" serve --data "$dir/data" --config "$dir/pfsd.yaml" --listen 127.0.0.1:0 2>"$dir/pfsd.log" &
  server=$!
  until grep -q 'listening on' "$dir/pfsd.log"; do sleep 0.05; kill -0 "$server"; done
  local endpoint
  endpoint=$(sed -n 's/.*listening on \(https:[^ "]*\).*/\1/p' "$dir/pfsd.log")
  echo 'correct horse battery' | "$bin/pfsd" user add bench --data "$dir/data" --password-stdin 2>/dev/null
  echo 'correct horse battery' | ctl login --endpoint "$endpoint" --username bench --password-stdin >/dev/null 2>&1
  remote=":hdfs,namenode='$(value NAMENODES)',username=$(id -un):/rclone"
}

# put is Hadoop's own client, in a process that has put such a file before: what is
# noted is the second of two, from the time of the first one to its own.
put() {
  sync
  use_memory
  hadoop -put -f "$dir/big" "$dir/big2" /put
  note put-up "$(echo "$(stored big2) $(stored big)" | awk '{printf "%.3f\n", ($1 - $2) / 1000}')"
}
# stored FILE: when that was, in ms.
stored() { curl -sf "$(value WEBHDFS)/webhdfs/v1/put/$1?op=GETFILESTATUS" | grep -o '"modificationTime":[0-9]*' | cut -d: -f2; }

large() {
  local s
  serve
  head -c $((SIZE << 20)) /dev/urandom >"$dir/big"
  ln "$dir/big" "$dir/big2"
  hadoop -mkdir -p /put
  for round in $(seq 0 "$RUNS"); do
    for s in hdfs ceph; do
      row "$s-up" ctl cp "$dir/big" "/pfs/$s/home/bench/big"
      row "$s-down" ctl cp "/pfs/$s/home/bench/big" "$dir/down"
      cmp "$dir/big" "$dir/down"
      ctl rm "/pfs/$s/home/bench/big" >/dev/null
      rm "$dir/down"
    done
    if [ -z "$no_rclone" ]; then
      row rc-up rc copyto -I "$dir/big" "$remote/big"
      row rc-down rc copyto -I "$remote/big" "$dir/down"
      rm "$dir/down"
      row rc-downsync rcsync "$remote/big" "$dir/down"
      rm "$dir/down"
      rc purge "$remote"
    fi
    put
  done
  hadoop -rm -r -f -skipTrash /put >/dev/null
  rm "$dir/big2"
  head_of "HDFS, one file of $SIZE MiB" "speed against rclone"
  line hdfs-up "paddlectl up, verified" rc-up
  line rc-up "rclone up" rc-up
  line put-up "hdfs dfs -put, without its start" rc-up
  line hdfs-down "paddlectl down, verified, synced" rc-down
  line rc-down "rclone down" rc-down
  line rc-downsync "rclone down, then sync" rc-down
  head_of "CephFS, one file of $SIZE MiB" ""
  line ceph-up "paddlectl up, verified, durable" none
  line ceph-down "paddlectl down, verified, synced" none
}

small() {
  local s from
  serve
  mkdir "$dir/small" "$dir/few" # the turn that is not counted has a tenth of them
  head -c $((16384 * FILES)) /dev/urandom | split -b 16384 -a 5 -d - "$dir/small/f"
  find "$dir/small" -name '*0' -exec cp -t "$dir/few" {} +
  for round in $(seq 0 "$RUNS"); do
    from=$dir/small
    [ "$round" != 0 ] || from=$dir/few
    for s in hdfs ceph; do
      row "$s-small" ctl cp -r "$from" "/pfs/$s/home/bench/small$round"
      ctl rm -r "/pfs/$s/home/bench/small$round" >/dev/null
    done
    if [ -z "$no_rclone" ]; then
      row rc-small rc copy "$from" "$remote/small$round"
      rc purge "$remote"
    fi
  done
  head_of "HDFS, $FILES files of 16 KiB" "speed against rclone"
  line hdfs-small "paddlectl up, verified" rc-small
  line rc-small "rclone up, 16 at once" rc-small
  head_of "CephFS, $FILES files of 16 KiB" ""
  line ceph-small "paddlectl up, verified, durable" none
}

# memory moves many files at once, half to each store.
memory() {
  local transfers=() k s
  serve
  head -c $((EACH << 20)) /dev/urandom >"$dir/one"
  for k in $(seq "$MANY"); do
    s=hdfs; [ $((k % 2)) = 0 ] || s=ceph
    ctl cp "$dir/one" "/pfs/$s/home/bench/one$k" >/dev/null 2>"$dir/err.$k" & transfers+=($!)
  done
  for k in "${transfers[@]}"; do wait "$k" || { cat "$dir"/err.* "$dir/pfsd.log" >&2; exit 1; }; done
  echo
  echo "$MANY parallel transfers of $EACH MiB, half to each store: pfsd $(awk '/VmHWM/ {printf "%.0f", $2 / 1024}' "/proc/$server/status") MiB resident at most."
}

echo "$(nproc) processors, $(go version | cut -d' ' -f3-), $RUNS runs in turn."
testdata/testbed/testbed.sh up >"$dir/up"
for part in $PARTS; do $part; done
