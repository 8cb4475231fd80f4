#!/usr/bin/env bash
# Measure speed and memory of the real programs over loopback with TLS, beside cp and, if
# installed, rclone. The rows of a comparison take turns in one run, because the speed of a
# machine drifts; medians and ratios of medians are printed as Markdown.
#   RUNS=5      counted runs per row
#   SIZE=2048   MiB of the large file
#   FILES=10000 small files of 4 KiB
#   MANY=64     parallel uploads in the memory row; 0 omits it
#   EACH=1024   MiB of each of them: the disk must hold them all
#   NAMES=1000000 entries of the large directory; 0 omits it
set -euo pipefail
cd "$(dirname "$0")/.."
RUNS=${RUNS:-5} SIZE=${SIZE:-2048} FILES=${FILES:-10000} MANY=${MANY:-64} EACH=${EACH:-1024} NAMES=${NAMES:-1000000}
. testdata/bench-lib.sh
home=/pfs/local/home/bench
start_service

cpsync() { cp "$1" "$2" && sync "$2" "$(dirname "$2")"; }
cprsync() { cp -r "$1" "$2" && sync -f "$2"; }
rcsync() { rc --no-check-certificate copyto -I "$1" "$2" && sync "$2" "$(dirname "$2")"; }
rc() { rclone --config "$dir/rclone.conf" "$@"; }

head -c $((SIZE << 20)) /dev/urandom >"$dir/big"
mkdir "$dir/small"
for i in $(seq "$FILES"); do head -c 4096 "$dir/big" >"$dir/small/f$i"; done

if [ -z "$no_rclone" ]; then
  mkdir -p "$dir/rc"
  cp "$dir/big" "$dir/rc/there" # its webdav server does not return a file that was just sent
  make_cert
  serve_rc dav 'http://127.0.0.1:' webdav "$dir/rc"
  serve_rc davs 'https://127.0.0.1:' webdav "$dir/rc" --cert "$dir/cert.pem" --key "$dir/key.pem"
  serve_rc sftp 'listening on 127.0.0.1:' sftp "$dir/rc" --user u --pass p
  cat >"$dir/rclone.conf" <<C
[dav]
type = webdav
url = http://127.0.0.1:$(cat "$dir/rc.dav.port")
vendor = other
[davs]
type = webdav
url = https://127.0.0.1:$(cat "$dir/rc.davs.port")
vendor = other
[sftp]
type = sftp
host = 127.0.0.1
port = $(cat "$dir/rc.sftp.port")
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
  row sup2 ctl cp -r "$dir/small" "$home/small$i"
  row sdown2 ctl cp -r "$home/small$i" "$dir/small.down$i"
  if [ -z "$no_rclone" ]; then
    for r in dav sftp; do
      row rc-$r-up rc copyto -I "$dir/big" $r:big
      row rc-$r-down rc copyto -I $r:there "$dir/big.rc"
    done
    row rc-davs-down rcsync davs:there "$dir/big.rc"
    row rc-sftp-small rc copy -I "$dir/small" "sftp:small$i"
    rm -rf "$dir/rc/big" "$dir/big.rc"
  fi
  # The small files stay: ext4 creates new ones several times slower after many were removed.
  rm -rf "$dir/big.cp" "$dir/big.down"
  ctl rm "$home/big$i"
done

echo "$(nproc) processors, $(go version | cut -d' ' -f3-), $RUNS runs in turn."
head_of "one file of $SIZE MiB" "speed against cp and sync"
line cp "cp, sync" cp
line up "paddlectl up, verified, synced" cp
line down "paddlectl down, verified, synced" cp
for r in dav sftp; do
  line rc-$r-up "rclone to its own $r server" cp
  line rc-$r-down "rclone from its own $r server" cp
done
line rc-davs-down "rclone from its own dav server, over TLS like ours, then sync" cp
head_of "$FILES files of 4 KiB" "speed against cp -r and sync"
line cpr "cp -r, not synced" cprs
line cprs "cp -r, sync" cprs
line sup "paddlectl up, verified, synced" cprs
line sdown "paddlectl down, verified, synced" cprs
line rc-sftp-small "rclone to its own sftp server" cprs
head_of "the same $FILES files copied again" "speed against the first copy"
line sup2 "paddlectl up, compared by digests" sup
line sdown2 "paddlectl down, compared by digests" sdown

if [ "$NAMES" -gt 0 ]; then
  many=$dir/data/store/home/bench/many
  mkdir "$many"
  seq "$NAMES" | (cd "$many" && xargs -n 5000 touch)
  t0=$(date +%s.%N)
  first=$(ctl ls "$home/many" 2>/dev/null | { head -n 1 >/dev/null; date +%s.%N; } || true)
  /usr/bin/time -f '%e %M' -o "$dir/ls" "$bin/paddlectl" ls "$home/many" >/dev/null 2>&1
  echo
  echo "ls of $NAMES entries: first line after $(echo "$first $t0" | awk '{printf "%.2f", $1 - $2}') s, all after $(awk '{printf "%.1f s, paddlectl %.0f MiB", $1, $2 / 1024}' "$dir/ls") resident at most, pfsd $(peak "$server") MiB so far."
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
  echo "$MANY parallel uploads of $EACH MiB: pfsd $(peak "$server") MiB resident at most, paddlectl $(cat "$dir"/mem.* | sort -n | tail -n 1 | awk '{printf "%.0f", $1 / 1024}') MiB."
fi
