#!/bin/bash
# A real Ceph cluster with one CephFS on loopback, from Debian's packages: one mon, one mgr, one OSD
# of 8 GiB (a sparse file) and one MDS. It writes only to DIR and uses free ports.
#
#   ceph.sh install              as root on Debian or Ubuntu: install missing packages
#   ceph.sh up DIR               start what is not running of the cluster in DIR, or a new one; print addresses
#   ceph.sh down DIR             kill its daemons and remove DIR
#   ceph.sh heal DIR             resume and start daemons until all run and serve
#   ceph.sh kill|start|pause|resume DIR mon|mgr|osd|mds
#                                one daemon: SIGKILL, start again, SIGSTOP, SIGCONT
#   ceph.sh clock DIR DAEMON OFFSET   restart a daemon with its clock moved, as by +3h; 0 is the right time
#   ceph.sh ceph DIR ARGS...     the ceph command of that cluster, as its administrator
#
# TESTBED_IDLE: seconds after which a cluster stops if nobody holds DIR.use; 0 is never.
# Status 3: this machine cannot run the cluster; the message says why.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/clock.sh"

readonly commands=(ceph ceph-authtool ceph-mds ceph-mgr ceph-mon ceph-osd monmaptool flock)
readonly packages=(ceph-mon ceph-mgr ceph-osd ceph-mds ceph-common ceph-fuse libcephfs-dev librados-dev util-linux gcc libc6-dev)
readonly headers=(/usr/include/cephfs/libcephfs.h /usr/include/rados/librados.h)

cannot() { echo "cannot run Ceph here: $*" >&2; exit 3; }
die() { echo "ceph.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }

# missing prints the missing commands and headers.
missing() {
  local c
  for c in "${commands[@]}"; do command -v "$c" >/dev/null || echo "$c"; done
  for c in "${headers[@]}"; do [ -e "$c" ] || echo "$c"; done
}

install() {
  local gone
  gone=$(missing | tr '\n' ' ')
  [ -n "$gone" ] || return 0
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || cannot "missing: $gone; on Debian: apt-get install ${packages[*]}"
  echo "installing Ceph" >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -q -y --no-install-recommends "${packages[@]}" >&2 ||
    { apt-get update -q >&2 && apt-get install -q -y --no-install-recommends "${packages[@]}" >&2; } ||
    cannot "apt-get could not install ${packages[*]}"
}

# free_port prints a free port of loopback. An HDFS has its ports above these: one whose daemon is down for a moment is not free.
free_port() {
  local p
  for _ in $(seq 100); do
    p=$((10000 + RANDOM % 10000))
    (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return; }
  done
  die "no free port found on 127.0.0.1"
}

# The cluster has no replicas and uses no other machines. It notices within seconds what dies and
# what is full. Small write buffers shorten the log that an OSD reads when it starts after a kill.
write_conf() {
  local dir=$1 fsid=$2 mon=$3
  cat > "$dir/ceph.conf" <<CONF
[global]
fsid = $fsid
mon host = $mon
mon initial members = a
public network = 127.0.0.0/8
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
keyring = $dir/keyring
run dir = $dir/run
admin socket = $dir/run/\$cluster-\$name.\$pid.asok
pid file = $dir/run/\$name.pid
log file = $dir/log/\$name.log
crash dir = $dir/log
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
mon allow pool delete = true
mon warn on pool no redundancy = false
mon data avail crit = 1
mon data avail warn = 2
mon osd min down reporters = 1
paxos propose interval = 0.1
mds beacon interval = 1
mds beacon grace = 5
mds reconnect timeout = 2
mds tick interval = 1
mgr stats period = 1
mon mgr digest period = 1
osd mon report interval = 1
[client]
log file =
admin socket =
[mon.a]
mon data = $dir/mon
[mgr.x]
mgr data = $dir/mgr
[osd.0]
osd data = $dir/osd
osd objectstore = bluestore
osd memory target = 1073741824
bluestore block create = true
bluestore block size = 8589934592
bluestore rocksdb options = compression=kNoCompression,write_buffer_size=8388608,max_write_buffer_number=4,recycle_log_file_num=4
[mds.a]
mds data = $dir/mds
CONF
}

ceph_at() { local dir=$1; shift; ceph -c "$dir/ceph.conf" --connect-timeout 20 "$@"; }

# daemon prints the program and the ID of a daemon.
daemon() {
  case $1 in
  mon) echo ceph-mon a ;;
  mgr) echo ceph-mgr x ;;
  osd) echo ceph-osd 0 ;;
  mds) echo ceph-mds a ;;
  *) usage ;;
  esac
}

start_daemon() {
  local dir=$1 program id
  read -r program id <<<"$(daemon "$2")"
  moved "${CLOCK:-}" "$program" -c "$dir/ceph.conf" -i "$id" >>"$dir/log/start.log" 2>&1 </dev/null 9>&- || die "$program does not start: see $dir/log"
}

# pid_of prints the process of a daemon. It ignores a number that another program has got since.
pid_of() {
  local dir=$1 program id pid
  read -r program id <<<"$(daemon "$2")"
  pid=$(cat "$dir/run/$2.$id.pid" 2>/dev/null) || return 1
  grep -qzxF "$dir/ceph.conf" "/proc/$pid/cmdline" 2>/dev/null || return 1
  echo "$pid"
}

signal_daemon() {
  local pid
  pid=$(pid_of "$1" "$2") || die "$2 does not run in $1"
  kill "-$3" "$pid"
  [ "$3" = KILL ] || return 0
  while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
}

clock() {
  movable "$3"
  signal_daemon "$1" "$2" KILL
  CLOCK=${3#0} start_daemon "$1" "$2"
}

# addresses prints the settings of a client.
addresses() {
  echo "CONF=$1/ceph.conf"
  echo "KEYRING=$1/keyring"
  echo "USER=admin"
  echo "MONITORS=$(cat "$1/monitors")"
  echo "FILESYSTEM=cephfs"
}

up() {
  local dir=$1
  install
  mkdir -p "$(dirname "$dir")"
  dir=$(cd "$(dirname "$dir")" && pwd)/$(basename "$dir")
  exec 9>"$dir.lock"; flock 9
  if ! { [ -e "$dir/up" ] && (heal "$dir"); }; then
    down "$dir"
    create "$dir"
    touch "$dir/up" "$dir.use"
  fi
  if [ "${TESTBED_IDLE:-0}" != 0 ] && ! kill -0 "$(cat "$dir/run/linger.pid" 2>/dev/null)" 2>/dev/null; then
    setsid nohup "$BASH" "$0" linger "$dir" "$TESTBED_IDLE" >/dev/null 2>&1 </dev/null 9>&- &
    echo $! >"$dir/run/linger.pid"
  fi
  addresses "$dir"
}

create() {
  local dir=$1 fsid osd mon v2 v1
  mkdir "$dir"
  mkdir "$dir"/{mon,mgr,osd,mds,run,log}
  fsid=$(cat /proc/sys/kernel/random/uuid)
  v2=$(free_port); v1=$(free_port)
  mon="[v2:127.0.0.1:$v2,v1:127.0.0.1:$v1]"
  write_conf "$dir" "$fsid" "$mon"
  echo "127.0.0.1:$v2" > "$dir/monitors"
  local all=(--cap mon 'allow *' --cap osd 'allow *' --cap mds 'allow *' --cap mgr 'allow *')
  {
    ceph-authtool --create-keyring "$dir/keyring" --gen-key -n mon. --cap mon 'allow *'
    ceph-authtool "$dir/keyring" --gen-key -n client.admin "${all[@]}"
    monmaptool --create --fsid "$fsid" --addv a "$mon" "$dir/monmap"
    ceph-mon -c "$dir/ceph.conf" --mkfs -i a --monmap "$dir/monmap" --keyring "$dir/keyring"
  } >>"$dir/log/start.log" 2>&1
  start_daemon "$dir" mon
  key() { ceph_at "$dir" auth get-or-create "$@" >> "$dir/keyring" 2>>"$dir/log/start.log"; }
  key mgr.x mon 'allow profile mgr' osd 'allow *' mds 'allow *'
  key mds.a mon 'allow profile mds' osd 'allow rwx' mds 'allow *' mgr 'allow profile mds'
  start_daemon "$dir" mgr
  osd=$(cat /proc/sys/kernel/random/uuid)
  ceph_at "$dir" osd new "$osd" >>"$dir/log/start.log" 2>&1
  key osd.0 mon 'allow profile osd' mgr 'allow profile osd' osd 'allow *'
  ceph-osd -c "$dir/ceph.conf" -i 0 --mkfs --osd-uuid "$osd" >>"$dir/log/start.log" 2>&1
  start_daemon "$dir" osd
  {
    ceph_at "$dir" osd pool create cephfs_data 8
    ceph_at "$dir" osd pool create cephfs_meta 8
    ceph_at "$dir" fs new cephfs cephfs_meta cephfs_data
    ceph_at "$dir" fs set cephfs session_timeout 30
    ceph_at "$dir" fs set cephfs session_autoclose 30
  } >>"$dir/log/start.log" 2>&1
  start_daemon "$dir" mds
  wait_active "$dir"
}

wait_active() {
  for _ in $(seq 300); do
    if ceph_at "$1" mds stat 2>/dev/null | grep -q 'up:active'; then return; fi
    sleep 0.1
  done
  die "the MDS did not become active: see $1/log"
}

heal() {
  local d pid
  for d in mon mgr osd mds; do
    if pid=$(pid_of "$1" "$d"); then kill -CONT "$pid"; else start_daemon "$1" "$d"; fi
  done
  wait_active "$1"
}

down() {
  local dir=$1 pid
  [ -e "$dir" ] || return 0
  [ -e "$dir/ceph.conf" ] || [ -z "$(ls "$dir")" ] || die "$dir holds no cluster"
  dir=$(cd "$dir" && pwd)
  for d in mds mgr osd mon; do
    if pid=$(pid_of "$dir" "$d"); then kill -KILL "$pid" 2>/dev/null || true; fi
  done
  rm -rf "$dir"
}

# linger takes the cluster down once nobody has held a shared lock of DIR.use for so many seconds.
# It holds the lock itself then, so that nobody begins to use the cluster.
linger() {
  local dir=$1 seconds=$2 unused=0 conf
  exec 9>>"$dir.use"
  conf=$(cat "$dir/ceph.conf")
  while sleep 5; do
    [ "$(cat "$dir/ceph.conf" 2>/dev/null)" = "$conf" ] || return 0 # somebody else took it down
    flock -n -x 9 || { unused=0; continue; }
    unused=$((unused + 5))
    if [ "$unused" -ge "$seconds" ]; then down "$dir"; return; fi
    flock -u 9
  done
}

verb=${1:-}; [ $# -gt 0 ] && shift
case $verb in
install) install ;;
up) up "${1:?DIR}" ;;
down) mkdir -p "$(dirname "${1:?DIR}")"; exec 9>"$1.lock"; flock 9; down "$1" ;;
heal) heal "$(cd "${1:?DIR}" && pwd)" ;;
start) start_daemon "$(cd "${1:?DIR}" && pwd)" "${2:?daemon}" ;;
kill) signal_daemon "$(cd "${1:?DIR}" && pwd)" "${2:?daemon}" KILL ;;
pause) signal_daemon "$(cd "${1:?DIR}" && pwd)" "${2:?daemon}" STOP ;;
resume) signal_daemon "$(cd "${1:?DIR}" && pwd)" "${2:?daemon}" CONT ;;
clock) clock "$(cd "${1:?DIR}" && pwd)" "${2:?daemon}" "${3:?OFFSET}" ;;
ceph) ceph_at "$@" ;;
linger) linger "${1:?DIR}" "${2:?SECONDS}" ;;
*) usage ;;
esac
