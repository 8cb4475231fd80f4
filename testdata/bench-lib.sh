# The common part of bench.sh and most other benchmarks, sourced at the root of the tree. It makes the
# directory $dir, which is removed at the end; all started programs are stopped.
bin=$PWD/bin
dir=$(mktemp -d "${TMPDIR:-/tmp}/pfs-bench.XXXXXX")
export PADDLE_CONFIG=$dir/config
server='' # process of the service
round=1   # of the rows; 0 is not counted
at_end() { :; }
cleanup() {
  trap '' INT TERM
  jobs -p | xargs -r kill 2>/dev/null || true
  wait
  at_end
  rm -rf --one-file-system "$dir" # never what a mount in it shows
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

no_rclone=
command -v rclone >/dev/null || no_rclone='rclone is not installed'

ctl() { "$bin/paddlectl" "$@"; }

# start_service FLAG...: start the service, and log in the user bench.
start_service() {
  local endpoint
  "$bin/pfsd" serve --data "$dir/data" --listen 127.0.0.1:0 "$@" 2>"$dir/pfsd.log" &
  server=$!
  until grep -q 'listening on' "$dir/pfsd.log"; do sleep 0.05; kill -0 "$server"; done
  endpoint=$(sed -n 's/.*listening on \(https:[^ "]*\).*/\1/p' "$dir/pfsd.log")
  echo 'correct horse battery' | "$bin/pfsd" user add bench --data "$dir/data" --password-stdin 2>/dev/null
  echo 'correct horse battery' | ctl login --endpoint "$endpoint" --username bench --password-stdin >/dev/null 2>&1
}

# use_memory fills the free memory with clean pages. Many virtual machines get their memory from the
# host at the first touch of a page, which costs more than copying it: a row that gets fresh pages
# would be slower than one that does not.
fills=0
use_memory() {
  local free
  free=$(awk '/MemFree/ {print int($2 / 1024) - 512}' /proc/meminfo)
  [ "$free" -gt 0 ] || return 0
  fills=$((fills + 1))
  truncate -s "${free}M" "$dir/fill.$fills"
  cat "$dir/fill.$fills" >/dev/null
}

# note NAME SECONDS records the time of a row, if its turn counts.
note() { [ "$round" = 0 ] || echo "$2" >>"$dir/row.$1"; }

# row NAME COMMAND...: one timed run, recorded under NAME.
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

# line NAME TEXT BASE: a line of the table; the last column is the median of BASE divided by that of
# NAME.
line() {
  [ -f "$dir/row.$1" ] || { echo "| $2 | not measured${no_rclone:+: $no_rclone} | | |"; return; }
  echo "$(median "$1") $(sort -n "$dir/row.$1" | sed -n '1p;$p' | tr '\n' ' ') $([ ! -f "$dir/row.$3" ] || median "$3")" |
    awk -v text="$2" '{printf "| %s | %.2f | %.2f to %.2f | %s |\n", text, $1, $2, $3, $4 == "" ? "-" : sprintf("%.2f", $4 / $1)}'
}
head_of() { printf '\n| %s | median s | least to most | %s |\n|---|---|---|---|\n' "$1" "$2"; }

# peak PROCESS: its peak resident memory in MiB.
peak() { awk '/VmHWM/ {printf "%.0f", $2 / 1024}' "/proc/$1/status"; }

# serve_rc NAME PATTERN FLAG...: start one of rclone's servers on a free port, which its log shows
# after PATTERN.
serve_rc() {
  local name=$1 pattern=$2 process
  shift 2
  rclone serve "$@" --addr 127.0.0.1:0 >/dev/null 2>"$dir/rc.$name.log" &
  process=$!
  until grep -q "$pattern" "$dir/rc.$name.log"; do sleep 0.05; kill -0 "$process"; done
  sed -n "s|.*$pattern\([0-9]*\).*|\1|p" "$dir/rc.$name.log" | head -n 1 >"$dir/rc.$name.port"
}

# make_cert makes the certificate for such a server's TLS.
make_cert() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null
}
