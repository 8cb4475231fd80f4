#!/usr/bin/env bash
# Measure jobs: the submit of a package that is there already, the start of many workers, and the uploader of outputs:
# whether it keeps up with a program, what is left when the program ends, and what it costs. It prints a table in
# Markdown. The store is a local directory.
#   RUNS=3        turns that count for the rows with a median
#   SIZE=1024     MiB of the package
#   FILES=100000  small files of a program
#   SECS=20       seconds for which a program writes checkpoints
#   ROWS=         some of: submit workers checkpoints files sparse
set -euo pipefail
cd "$(dirname "$0")/.."
RUNS=${RUNS:-3} SIZE=${SIZE:-1024} FILES=${FILES:-100000} SECS=${SECS:-20} ROWS=${ROWS:-submit workers checkpoints files sparse}
. testdata/bench-lib.sh
export XDG_STATE_HOME=$dir/state XDG_CACHE_HOME=$dir/cache PFS_ROOT=$dir/pfs
mkdir -p "$dir/pfs" && ln -s "$dir/data/store" "$dir/pfs/local"
start_service
CGO_ENABLED=0 go build -trimpath -o "$dir/pfs-agent" ./cmd/pfs-agent # as make image builds it
jobs=$dir/data/store/home/bench/jobs

# now, and the time from $1 to $2.
now() { date +%s.%N; }
took() { echo "$1 $2" | awk '{printf "%.3f\n", $2 - $1}'; }
# goal VALUE LIMIT: whether the value is at most the limit.
goal() { echo "$1 $2" | awk '{print $1 <= $2 ? "met" : "missed"}'; }
# tell TEXT VALUE LIMIT UNIT: a line of the table.
tell() { echo "| $1 | $2 $4 | <= $3 $4 | $(goal "$2" "$3") |"; }
# gone JOB: remove an ended job with its outputs, but not its package.
gone() { ctl delete "$1" >/dev/null && ctl rm -rf "/pfs/local/home/bench/jobs/$1/attempts" "/pfs/local/home/bench/jobs/$1/logs"; }

echo "| jobs on $(nproc) processors | | goal | |"
echo "|---|---|---|---|"

wanted() { [[ " $ROWS " = *" $1 "* ]]; }

if wanted submit; then # a package of files of 1 MiB
mkdir "$dir/package"
for i in $(seq "$SIZE"); do head -c 1M /dev/urandom >"$dir/package/f$i"; done
submit() { ctl submit -q -jobname package -entry true "$dir/package"; }
for round in $(seq 0 "$RUNS"); do
  row "submit" submit
  ctl wait package >/dev/null
  gone package
done
tell "submit of an unchanged package of $SIZE MiB" "$(median submit)" 2 s
rm -rf "$dir/package"
fi

if wanted workers; then # they tell when they have started, and wait without using a processor
mkdir "$dir/package" && touch "$dir/package/none"
mkfifo "$dir/enough" && exec 9<>"$dir/enough"
for round in $(seq 0 "$RUNS"); do
  begin=$(now)
  # shellcheck disable=SC2016
  ctl submit -q -jobname many -parallelism 64 -entry "date +%s.%N >$dir/started.\$PFS_INDEX; read end <$dir/enough" "$dir/package" 9>&-
  until [ "$(cat "$dir"/started.* 2>/dev/null | wc -l)" = 64 ]; do sleep 0.1; done
  note workers "$(took "$begin" "$(cat "$dir"/started.* | sort -n | tail -n 1)")"
  printf '%64s' '' | tr ' ' '\n' >&9
  ctl wait many >/dev/null
  gone many
  rm "$dir"/started.*
done
exec 9>&-
tell "64 workers of this machine have started, from the command on" "$(median workers)" 2 s
fi

# rank NAME ENTRY: run a rank as a pod does, with an uploader of its own.
rank() {
  mkdir -p "$dir/$1/root/local/home/bench/package" "$dir/$1/jobroot"
  cat >"$dir/$1/spec.json" <<S
{"name": "$1", "user": "bench", "datacenter": "local", "package": "/pfs/local/home/bench/package", "entry": "sh $dir/$1/entry",
 "passes": 1, "roles": [{"name": "trainer", "replicas": 1}], "max_attempts": 1, "restart": "job", "upload_wait": 600000000000}
S
  echo "$2" >"$dir/$1/entry"
  export PFS_ROLE=trainer PFS_INDEX=0 PFS_ATTEMPT=1 PFS_TRAINERS=localhost:1
  "$dir/pfs-agent" upload --spec "$dir/$1/spec.json" --dir "$dir/$1/run" 2>"$dir/$1/upload.log" &
  uploader=$!
  "$dir/pfs-agent" launch --spec "$dir/$1/spec.json" --dir "$dir/$1/run" --root "$dir/$1/root" --job-root "$dir/$1/jobroot" >"$dir/$1/log" 2>&1 &
  launcher=$!
  outputs=$jobs/$1/attempts/1/trainer-0
}
# ended: wait for the end of the rank, and set left to the seconds from the end of the program to the marker.
ended() {
  wait "$launcher"
  memory=$(peak "$uploader")
  kill "$uploader"
  wait "$uploader"
  left=$(sed -n 's/.*"seconds_after_exit": *\([0-9.]*\).*/\1/p' "$outputs/_SUCCESS" | awk '{printf "%.2f", $1}')
}
# arrived N: wait until the store has N files of the rank.
arrived() { until [ "$(find "$outputs" -type f ! -name '_*' ! -name '.pfs-*' 2>/dev/null | wc -l)" -ge "$1" ]; do sleep 2; done; }
# idle SECONDS: the processor time of the uploader in percent of one.
idle() {
  local before after
  before=$(awk '{print $14 + $15}' "/proc/$uploader/stat")
  sleep "$1"
  after=$(awk '{print $14 + $15}' "/proc/$uploader/stat")
  echo "$before $after $1" | awk -v hz="$(getconf CLK_TCK)" '{printf "%.1f", 100 * ($2 - $1) / hz / $3}'
}
until_go='touch $PFS_OUTPUT/../written; until [ -e '"$dir/go"' ]; do sleep 0.1; done'

if wanted checkpoints; then # at 0.8 of the rate of the store
head -c 128M /dev/urandom >"$dir/checkpoint"
mkdir "$dir/checkpoints"
for i in $(seq 16); do cp "$dir/checkpoint" "$dir/checkpoints/c$i"; done
for round in $(seq 0 "$RUNS"); do
  row rate ctl cp -r "$dir/checkpoints" "/pfs/local/home/bench/rate$round"
done
rm -rf "$dir/checkpoints"
every=$(median rate | awk '{printf "%.3f", $1 / 16 / 0.8}')
checkpoints=$(echo "$SECS $every" | awk '{print int($1 / $2)}')
rank checkpoints "begin=\$(date +%s.%N)
for i in \$(seq $checkpoints); do
  cp $dir/checkpoint \$PFS_OUTPUT/new && mv \$PFS_OUTPUT/new \$PFS_OUTPUT/c\$i
  sleep \$(echo \$begin \$i \$(date +%s.%N) | awk '{d = \$1 + \$2 * $every - \$3; print (d > 0 ? d : 0)}')
done
date +%s.%N | awk -v begin=\$begin '{print \"MB/s written:\", $checkpoints * 134.217728 / (\$1 - begin)}'
sleep 10"
ended
echo "| rate of the store, $(median rate | awk '{printf "%.0f", 2048 * 1.048576 / $1}') MB/s; the program wrote at $(sed -n 's/MB.s written: \([0-9]*\).*/\1/p' "$dir/checkpoints/log") MB/s | | | |"
tell "left after $checkpoints checkpoints of 128 MiB, 10 s after the last" "$left" 2 s
tell "memory of the uploader" "$memory" 64 MiB
fi

if wanted files; then
rank files "mkdir \$(seq -f \$PFS_OUTPUT/d%g 0 99)
seq $FILES | awk -v out=\$PFS_OUTPUT '{f = out \"/d\" NR % 100 \"/\" NR; print NR > f; close(f)}'
$until_go"
arrived "$FILES"
sleep 10
used=$(idle 60)
touch "$dir/go"
ended
rm "$dir/go"
tell "$FILES files: processor, idle" "$used" 5 %
tell "$FILES files: memory" "$memory" 64 MiB
tell "$FILES files: left after the program" "$left" 2 s
fi

if wanted sparse; then
rank sparse "truncate -s 20G \$PFS_OUTPUT/sparse; printf end >>\$PFS_OUTPUT/sparse; $until_go"
arrived 1
sleep 10
used=$(idle 60)
touch "$dir/go"
ended
tell "a sparse file of 20 GiB: processor, idle" "$used" 5 %
tell "a sparse file of 20 GiB: memory" "$memory" 64 MiB
tell "a sparse file of 20 GiB: left after the program" "$left" 2 s
fi
