#!/usr/bin/env bash
# Measure speed and memory on a real HDFS and a real CephFS, which testbed.sh starts for this
# run. First come the store packages beside the raw libraries and Hadoop's own client (go test
# -bench: rates in turn, medians). Then come the real programs, with TLS, verification and
# durable writes, beside rclone's remote for HDFS and Hadoop's client; medians as Markdown.
# The rows of a table take turns with real data; the first turn is not counted. Missing
# contenders are named.
#   RUNS=3      counted runs per row
#   SIZE=1024   MiB of the large file for the programs
#   FILES=5000  small files of 16 KiB
#   MANY=64     parallel transfers in the memory rows: all to HDFS, then half to each store
#   EACH=64     MiB of each of them
#   PARTS='packages large small memory'   the parts to run
set -euo pipefail
cd "$(dirname "$0")/.."
RUNS=${RUNS:-3} SIZE=${SIZE:-1024} FILES=${FILES:-5000} MANY=${MANY:-64} EACH=${EACH:-64} PARTS=${PARTS:-packages large small memory}
mine=${PFS_TESTBED_DIR:+no}
. testdata/bench-lib.sh
export PFS_TESTBED_DIR=${PFS_TESTBED_DIR:-$dir/testbed}
at_end() { [ "$mine" = no ] || testdata/testbed/testbed.sh down || true; }
rc() { rclone --config /dev/null --transfers 16 "$@"; }
rcsync() { rc --no-check-certificate copyto -I "$1" "$2" && sync "$2" "$(dirname "$2")"; }
# hadoop runs Hadoop's own client, with all of Java's compilers.
hadoop() { HDFS_DIR=$(value HDFS_DIR) _JAVA_OPTIONS=-XX:TieredStopAtLevel=4 testdata/testbed/hdfs.sh fs "$@" 2>"$dir/err" || { cat "$dir/err" >&2; exit 1; }; }
value() { sed -n "s/^$1=//p" "$dir/up"; }

packages() {
  local p
  for p in hdfsfs cephfs; do
    echo
    go test ${TAGS:+"-tags=$TAGS"} -count=1 -timeout 60m -run '^$' -bench 'Write$|Read$|SmallFiles$|Stopped$' -benchtime "${RUNS}x" "./pfs/$p" |
      awk -v p="$p" '/^Benchmark/ { for (i = 3; i < NF; i += 2) if ($(i+1) != "ns/op") print p, $1, $(i+1), $i; next }
        /SKIP|FAIL|^---/ { print }'
  done
}

# serve starts the service on first use.
serve() {
  [ -z "$server" ] || return 0
  sed -n '/^datacenters:/,$p' "$dir/up" >"$dir/pfsd.yaml"
  start_service --config "$dir/pfsd.yaml"
  remote=":hdfs,namenode='$(value NAMENODES)',username=$(id -un):/rclone"
}

# put times Hadoop's own client without its start: it puts two files in one process and records the
# time between their completions.
put() {
  sync
  use_memory
  hadoop -put -f "$dir/big" "$dir/big2" /put
  note put-up "$(echo "$(stored big2) $(stored big)" | awk '{printf "%.3f\n", ($1 - $2) / 1000}')"
}
# stored FILE: its modification time in ms.
stored() { curl -sf "$(value WEBHDFS)/webhdfs/v1/put/$1?op=GETFILESTATUS" | grep -o '"modificationTime":[0-9]*' | cut -d: -f2; }

# loop records the times of the go-ceph loop, from memory and to /dev/null, which its benchmark
# reports as MB/s.
loop() {
  use_memory
  (cd pfs/cephfs && "$dir/cephfs.test" -test.run '^$' -test.bench 'GoCeph$' -test.benchtime 1x) >"$dir/loop"
  local way
  for way in write read; do
    note "loop-$way" "$(awk -v size="$SIZE" -v way="$way-MB/s" '{ for (i = 2; i <= NF; i++) if ($i == way) printf "%.3f\n", size * 1.048576 / $(i-1) }' "$dir/loop")"
  done
}

# serve_dav makes rclone serve its files in HDFS over TLS.
serve_dav() {
  rc copyto "$dir/big" "$remote-dav/big" # it does not detect files that are added later
  make_cert
  serve_rc davs 'https://127.0.0.1:' webdav "$remote-dav" --config /dev/null --cert "$dir/cert.pem" --key "$dir/key.pem"
  dav=":webdav,url='https://127.0.0.1:$(cat "$dir/rc.davs.port")',vendor=other:big"
}

# from_memory FILE: upload from standard input, as a program would send its output.
from_memory() { ctl cp - "$1" <"$dir/big"; }

large() {
  local s
  serve
  head -c $((SIZE << 20)) /dev/urandom >"$dir/big"
  ln "$dir/big" "$dir/big2"
  hadoop -mkdir -p /put
  [ -n "$no_rclone" ] || serve_dav
  [ "${TAGS:-}" != ceph ] || go test -tags ceph -c -o "$dir/cephfs.test" ./pfs/cephfs
  for round in $(seq 0 "$RUNS"); do
    for s in hdfs ceph; do
      row "$s-up" ctl cp "$dir/big" "/pfs/$s/home/bench/big"
      row "$s-down" ctl cp "/pfs/$s/home/bench/big" "$dir/down"
      cmp "$dir/big" "$dir/down"
      ctl rm "/pfs/$s/home/bench/big" >/dev/null
      rm "$dir/down"
      row "$s-stdin" from_memory "/pfs/$s/home/bench/big"
      row "$s-cat" ctl cat "/pfs/$s/home/bench/big"
      ctl rm "/pfs/$s/home/bench/big" >/dev/null
    done
    if [ -z "$no_rclone" ]; then
      row rc-up rc copyto -I "$dir/big" "$remote/big"
      row rc-down rc copyto -I "$remote/big" "$dir/down"
      rm "$dir/down"
      row rc-downsync rcsync "$remote/big" "$dir/down"
      rm "$dir/down"
      row rc-dav rcsync "$dav" "$dir/down"
      rm "$dir/down"
      rc purge "$remote"
    fi
    put
    [ ! -x "$dir/cephfs.test" ] || loop
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
  line rc-dav "rclone down from its own dav server in front of HDFS, over TLS like ours, then sync" rc-down
  line hdfs-stdin "paddlectl from memory, through standard input, verified" rc-up
  line hdfs-cat "paddlectl cat to /dev/null, verified" rc-down
  head_of "CephFS, one file of $SIZE MiB" "speed against the loop"
  line ceph-up "paddlectl up, verified, durable" loop-write
  line ceph-stdin "paddlectl from memory, through standard input, verified, durable" loop-write
  line loop-write "a loop over go-ceph writes from memory, then fsync" loop-write
  line ceph-down "paddlectl down, verified, synced" loop-read
  line ceph-cat "paddlectl cat to /dev/null, verified" loop-read
  line loop-read "a loop over go-ceph reads to /dev/null" loop-read
}

small() {
  local s from
  serve
  mkdir "$dir/small" "$dir/few" # the uncounted turn has a tenth of them
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

# memory transfers many files at once through a new service, to HDFS and then to both stores.
memory() {
  head -c $((EACH << 20)) /dev/urandom >"$dir/one"
  echo
  together hdfs
  together hdfs ceph
}

together() {
  local to=("$@") transfers=() k
  if [ -n "$server" ]; then
    kill "$server"
    wait "$server" || true
    server=''
    rm -rf "$dir/data"
  fi
  serve
  for k in $(seq "$MANY"); do
    ctl cp "$dir/one" "/pfs/${to[k % $#]}/home/bench/one$k" >/dev/null 2>"$dir/err.$k" & transfers+=($!)
  done
  for k in "${transfers[@]}"; do wait "$k" || { cat "$dir"/err.* "$dir/pfsd.log" >&2; exit 1; }; done
  echo "$MANY parallel transfers of $EACH MiB to $*: pfsd $(peak "$server") MiB resident at most."
  for k in $(seq "$MANY"); do ctl rm "/pfs/${to[k % $#]}/home/bench/one$k" >/dev/null; done
}

echo "$(nproc) processors, $(go version | cut -d' ' -f3-), $RUNS runs in turn."
testdata/testbed/testbed.sh up >"$dir/up"
for part in $PARTS; do $part; done
