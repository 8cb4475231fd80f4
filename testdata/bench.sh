#!/usr/bin/env bash
# Speed and memory of the real programs over loopback with TLS, beside cp and, where it
# is installed, rclone. All rows of a comparison are taken in turn in one run, because
# the speed of a machine drifts; medians and ratios of medians are printed as Markdown.
#   RUNS=5      counted runs of each row
#   SIZE=2048   MiB of the large file
#   FILES=10000 small files of 4 KiB
#   MANY=64     parallel uploads for the memory row; 0 leaves it out
#   EACH=1024   MiB of each of them: the disk must hold them all
#   NAMES=1000000 entries of the large directory; 0 leaves it out
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/bin
RUNS=${RUNS:-5} SIZE=${SIZE:-2048} FILES=${FILES:-10000} MANY=${MANY:-64} EACH=${EACH:-1024} NAMES=${NAMES:-1000000}
dir=$(mktemp -d "${TMPDIR:-/tmp}/pfs-bench.XXXXXX")
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$dir"' EXIT
export PADDLE_CONFIG=$dir/config
home=/pfs/local/home/bench
ctl() { "$bin/paddlectl" "$@"; }

"$bin/pfsd" serve --data "$dir/data" --listen 127.0.0.1:0 2>"$dir/pfsd.log" &
server=$!
pids+=($server)
until grep -q 'listening on' "$dir/pfsd.log"; do sleep 0.05; kill -0 $server; done
endpoint=$(sed -n 's/.*listening on \(https:[^ "]*\).*/\1/p' "$dir/pfsd.log")
echo 'correct horse battery' | "$bin/pfsd" user add bench --data "$dir/data" --password-stdin 2>/dev/null
echo 'correct horse battery' | ctl login --endpoint "$endpoint" --username bench --password-stdin >/dev/null 2>&1

# use_memory fills what memory is free with clean pages. Many virtual machines get
# their memory from the host at the first touch of a page, which costs more than
# copying it: a row that is given fresh pages would be slower than one that is not.
fills=0
use_memory() {
  local free
  free=$(awk '/MemFree/ {print int($2 / 1024) - 512}' /proc/meminfo)
  [ "$free" -gt 0 ] || return 0
  fills=$((fills + 1))
  truncate -s "${free}M" "$dir/fill.$fills"
  cat "$dir/fill.$fills" >/dev/null
}

# row NAME COMMAND...: one timed run, kept under NAME.
row() {
  local name=$1 t0 t1
  shift
  sync
  use_memory
  t0=$(date +%s.%N)
  "$@" >/dev/null 2>"$dir/err" || { echo "$name failed:" >&2; cat "$dir/err" >&2; exit 1; }
  t1=$(date +%s.%N)
  echo "$t1 $t0" | awk '{printf "%.3f\n", $1 - $2}' >>"$dir/row.$name"
}
median() { sort -n "$dir/row.$1" | awk '{v[NR]=$1} END {print v[int((NR+1)/2)]}'; }
# line NAME TEXT BASE: a line of the table; the last column is BASE's median over this one's.
line() {
  echo "$(median "$1") $(sort -n "$dir/row.$1" | sed -n '1p;$p' | tr '\n' ' ') $(median "$3")" |
    awk -v text="$2" '{printf "| %s | %.2f | %.2f to %.2f | %.2f |\n", text, $1, $2, $3, $4 / $1}'
}
cpsync() { cp "$1" "$2" && sync "$2" "$(dirname "$2")"; }
cprsync() { cp -r "$1" "$2" && sync -f "$2"; }
rcsync() { rc --no-check-certificate copyto -I "$1" "$2" && sync "$2" "$(dirname "$2")"; }
rc() { rclone --config "$dir/rclone.conf" "$@"; }

head -c $((SIZE << 20)) /dev/urandom >"$dir/big"
mkdir "$dir/small"
for i in $(seq "$FILES"); do head -c 4096 "$dir/big" >"$dir/small/f$i"; done

if command -v rclone >/dev/null; then
  mkdir -p "$dir/rc"
  cp "$dir/big" "$dir/rc/there" # its webdav server does not give back what was just sent
  rclone serve webdav "$dir/rc" --addr 127.0.0.1:28731 >/dev/null 2>&1 & pids+=($!)
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null
  rclone serve webdav "$dir/rc" --addr 127.0.0.1:28733 --cert "$dir/cert.pem" --key "$dir/key.pem" >/dev/null 2>&1 & pids+=($!)
  rclone serve sftp "$dir/rc" --addr 127.0.0.1:28732 --user u --pass p >/dev/null 2>&1 & pids+=($!)
  sleep 2
  cat >"$dir/rclone.conf" <<C
[dav]
type = webdav
url = http://127.0.0.1:28731
vendor = other
[davs]
type = webdav
url = https://127.0.0.1:28733
vendor = other
[sftp]
type = sftp
host = 127.0.0.1
port = 28732
user = u
pass = $(rclone obscure p)
C
fi

for i in $(seq "$RUNS"); do
  row cp cpsync "$dir/big" "$dir/big.cp"
  row up ctl cp "$dir/big" "$home/big$i"
  row down ctl cp "$home/big$i" "$dir/big.down"
  cmp "$dir/big" "$dir/big.down"
  row cpr cp -r "$dir/small" "$dir/small.cp$i"
  row cprs cprsync "$dir/small" "$dir/small.cps$i"
  row sup ctl cp -r "$dir/small" "$home/small$i"
  row sdown ctl cp -r "$home/small$i" "$dir/small.down$i"
  if command -v rclone >/dev/null; then
    for r in dav sftp; do
      row rc-$r-up rc copyto -I "$dir/big" $r:big
      row rc-$r-down rc copyto -I $r:there "$dir/big.rc"
    done
    row rc-davs-down rcsync davs:there "$dir/big.rc"
    row rc-sftp-small rc copy -I "$dir/small" "sftp:small$i"
    rm -rf "$dir/rc/big" "$dir/big.rc"
  fi
  # The small files stay: ext4 makes new ones several times slower after many were removed.
  rm -rf "$dir/big.cp" "$dir/big.down"
  ctl rm "$home/big$i"
done

echo "$(nproc) processors, $(go version | cut -d' ' -f3-), $RUNS runs in turn."
echo
echo "| one file of $SIZE MiB | median s | least to most | speed against cp and sync |"
echo "|---|---|---|---|"
line cp "cp, sync" cp
line up "paddlectl up, verified, synced" cp
line down "paddlectl down, verified, synced" cp
if command -v rclone >/dev/null; then
  for r in dav sftp; do
    line rc-$r-up "rclone to its own $r server" cp
    line rc-$r-down "rclone from its own $r server" cp
  done
  line rc-davs-down "rclone from its own dav server, over TLS as ours, then sync" cp
fi
echo
echo "| $FILES files of 4 KiB | median s | least to most | speed against cp -r and sync |"
echo "|---|---|---|---|"
line cpr "cp -r, not synced" cprs
line cprs "cp -r, sync" cprs
line sup "paddlectl up, verified, synced" cprs
line sdown "paddlectl down, verified, synced" cprs
if command -v rclone >/dev/null; then line rc-sftp-small "rclone to its own sftp server" cprs; fi

peak() { awk '/VmHWM/ {printf "%.0f", $2 / 1024}' "/proc/$1/status"; }
if [ "$NAMES" -gt 0 ]; then
  many=$dir/data/store/home/bench/many
  mkdir "$many"
  seq "$NAMES" | (cd "$many" && xargs -n 5000 touch)
  t0=$(date +%s.%N)
  first=$(ctl ls "$home/many" 2>/dev/null | { head -n 1 >/dev/null; date +%s.%N; } || true)
  /usr/bin/time -f '%e %M' -o "$dir/ls" "$bin/paddlectl" ls "$home/many" >/dev/null 2>&1
  echo
  echo "ls of $NAMES entries: first line after $(echo "$first $t0" | awk '{printf "%.2f", $1 - $2}') s, all after $(awk '{printf "%.1f s, paddlectl %.0f MiB", $1, $2 / 1024}' "$dir/ls") resident at most, pfsd $(peak $server) MiB so far."
  rm -rf "$many"
fi
if [ "$MANY" -gt 0 ]; then
  truncate -s "${EACH}M" "$dir/one"
  uploads=()
  for i in $(seq "$MANY"); do
    /usr/bin/time -f '%M' -o "$dir/mem.$i" "$bin/paddlectl" cp "$dir/one" "$home/one$i" >/dev/null 2>&1 &
    uploads+=($!)
  done
  wait "${uploads[@]}"
  echo
  echo "$MANY parallel uploads of $EACH MiB: pfsd $(peak $server) MiB resident at most, paddlectl $(cat "$dir"/mem.* | sort -n | tail -n 1 | awk '{printf "%.0f", $1 / 1024}') MiB."
fi
