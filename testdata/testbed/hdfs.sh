#!/usr/bin/env bash
# A real HDFS on loopback: Hadoop from Maven Central, a NameNode, three DataNodes, WebHDFS.
# 'up' takes about ten seconds to the first byte.
#
#   hdfs.sh install                 install missing packages (as root on Debian) and Hadoop (anywhere)
#   hdfs.sh up                      install what is missing, start what is not running, print addresses
#   hdfs.sh down                    stop everything and remove its data
#   hdfs.sh kill NAME               one daemon: nn (nn1, nn2 with HA), dn1, dn2, dn3, kms
#   hdfs.sh start NAME...           start daemons and wait until they serve
#   hdfs.sh pause|resume NAME       SIGSTOP and SIGCONT: it accepts connections and never answers
#   hdfs.sh clock OFFSET            (secure) restart the KDC with its clock moved, as by +2h; 0 is the right time
#   hdfs.sh flip PATH OFFSET [DN...]   flip one byte of the replicas of PATH on the DataNodes; by default on all that have one
#   hdfs.sh flip-sum PATH OFFSET [DN...]   flip a byte of the checksum of that byte
#   hdfs.sh flip-unit PATH UNIT     flip a byte of a unit of the first block group of an erasure-coded file
#   hdfs.sh exclude [DN...]         begin to decommission exactly these DataNodes
#   hdfs.sh capacity BYTES          restart the DataNodes with this capacity each; "up" restores that of the disk
#   hdfs.sh balance                 a round of Hadoop's Balancer, which moves blocks to DataNodes that are less full by 1 % of their capacity
#   hdfs.sh safemode enter|leave
#   hdfs.sh settle                  wait until every block has all of its replicas
#   hdfs.sh failover NN             (ha) make nn1 or nn2 the active one
#   hdfs.sh kinit WHO               (secure) the user of the next verbs: nn (the superuser), pfs, alice, bob
#   hdfs.sh fetchdt FILE            (secure) a delegation token, for that user
#   hdfs.sh webhdfs METHOD PATH QUERY   (secure) one operation over WebHDFS
#   hdfs.sh fs|admin|ec|distcp|key|crypto ARGS...
#                                   Hadoop's own tools: hdfs dfs, hdfs dfsadmin, hdfs ec, hadoop distcp, hadoop key, hdfs crypto
#
# HDFS_MODE: simple (default), ha (two NameNodes, switched by hand, and DataNodes that report new blocks late),
# secure (Kerberos, block tokens, HTTPS), encrypted (data transfer with a key of the cluster, block tokens that
# end after a minute, DataNodes with the names dn1.pfs.test ..., which nobody resolves). The last two have a KMS ("kms"), the
# server of the keys of encryption zones.
# HDFS_VERSION: of Hadoop, by default 3.4.2. Only its jars are checked against SHA512SUMS.
# HDFS_DIR: the directory of the cluster; one cluster per directory.
# TESTBED_JAVA: options of Java; "run" of testbed.sh sets options for a fast start.
# TESTBED_IDLE: seconds after which a cluster stops if nobody holds $HDFS_DIR.use; 0 is never.
# PFS_TESTBED_CACHE: the directory for downloads, by default $XDG_CACHE_HOME/pfs-testbed.
# Status 3: this machine cannot run the cluster; the message says why.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
MODE=${HDFS_MODE:-simple}
D=${HDFS_DIR:-${PFS_TESTBED_DIR:-${TMPDIR:-/tmp}/pfs-testbed-$(id -u)}/hdfs-$MODE}
CACHE=${PFS_TESTBED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pfs-testbed}
VERSION=${HDFS_VERSION:-3.4.2}
LIB=$CACHE/hadoop-$VERSION
DATANODES=3
HOST=127.0.0.1
NAMENODES=nn
JAVA=(java -XX:+UseSerialGC -Djava.net.preferIPv4Stack=true --add-opens java.base/java.lang=ALL-UNNAMED "-Dpfs.testbed=$D"
  "-Djava.io.tmpdir=$D/tmp" -XX:-UsePerfData ${TESTBED_JAVA:-})
case $MODE in
simple|encrypted) ;;
ha) NAMENODES='nn1 nn2' ;;
secure)
  HOST=localhost
  export KRB5_CONFIG=$D/krb/krb5.conf KRB5_KDC_PROFILE=$D/krb/kdc.conf KRB5CCNAME=FILE:$D/krb/ccache
  JAVA+=("-Djava.security.krb5.conf=$KRB5_CONFIG") ;;
*) echo "HDFS_MODE=$MODE: simple, ha, secure or encrypted" >&2; exit 2 ;;
esac
. "$HERE/clock.sh"
. "$HERE/hdfs/install.sh"
. "$HERE/hdfs/configure.sh"
. "$HERE/hdfs/kerberos.sh"

usage() { sed -n '/^#  /s/^#   //p' "$0" >&2; exit 2; }

# tool HEAP CLASS ARGS...: run a program of Hadoop that ends.
tool() { local heap=$1; shift; HADOOP_USER_NAME=${HADOOP_USER_NAME:-$(id -un)} "${JAVA[@]}" -XX:TieredStopAtLevel=1 "-Xmx$heap" -cp "$D/conf:$LIB/*" "$@"; }

# daemon NAME COMMAND...: start it in the background, detached from the caller: it keeps none of its files and locks open.
daemon() {
  local n=$1 fd; shift
  (
    for fd in /proc/self/fd/*; do [ "${fd##*/}" -le 2 ] || eval "exec ${fd##*/}>&-"; done
    exec setsid nohup "$@" >>"$D/log/$n.log" 2>&1 </dev/null
  ) &
  echo $! >"$D/run/$n.pid"
}

# pid NAME: its process, if it runs and belongs to this cluster.
pid() {
  local p
  p=$(cat "$D/run/$1.pid" 2>/dev/null) || return 1
  grep -qz -F -e "$D" "/proc/$p/cmdline" 2>/dev/null && echo "$p"
}

launch() {
  local n=$1 own=()
  rm -f "$D/run/$n.fenced"
  [ "$MODE" != encrypted ] || own=(-D "dfs.datanode.hostname=$n.pfs.test")
  [ "$MODE" != secure ] || [ "$n" != nn ] || own=(-D "dfs.namenode.rpc-address.auxiliary-ports=$(port nn-integrity),$(port nn-privacy)")
  [ ! -e "$D/run/capacity" ] || [ "${n#dn}" = "$n" ] || own+=($(small "$n"))
  case $n in
  nn) daemon "$n" "${JAVA[@]}" -Xmx512m -cp "$D/conf:$LIB/*" org.apache.hadoop.hdfs.server.namenode.NameNode "${own[@]}" ;;
  nn[12]) daemon "$n" "${JAVA[@]}" -Xmx512m -cp "$D/conf:$LIB/*" org.apache.hadoop.hdfs.server.namenode.NameNode \
    -D "dfs.ha.namenode.id=$n" -D "dfs.namenode.name.dir=$D/data/$n" ;;
  kms) HADOOP_KEYSTORE_PASSWORD=testbed daemon kms "${JAVA[@]}" -Xmx256m "-Dkms.config.dir=$D/conf" "-Dkms.log.dir=$D/log" \
    "-Dlog4j.configuration=file:$D/conf/log4j.properties" -cp "$D/conf:$LIB-kms/*:$LIB/*" org.apache.hadoop.crypto.key.kms.server.KMSWebServer ;;
  dn[0-9]*) daemon "$n" "${JAVA[@]}" -Xmx256m -cp "$D/conf:$LIB/*" org.apache.hadoop.hdfs.server.datanode.DataNode \
    -D "dfs.datanode.data.dir=$D/data/$n" -D "dfs.datanode.address=127.0.0.1:$(port "$n")" \
    -D "dfs.datanode.http.address=127.0.0.1:$(port "$n-http")" -D "dfs.datanode.https.address=localhost:$(port "$n-https")" \
    -D "dfs.datanode.ipc.address=127.0.0.1:$(port "$n-ipc")" "${own[@]}" ;;
  kdc) daemon "$n" env ${CLOCK:+"LD_PRELOAD=$(faketime_library)" "FAKETIME=$CLOCK"} krb5kdc -n -r PFS.TEST -P "$D/run/krb5kdc.pid" ;;
  *) usage ;;
  esac
}

# small NAME: the options of a DataNode that has only a part of the disk. It would keep 1 GiB free, and reserve as much for a
# block that the Balancer moves as for a whole one.
small() {
  printf -- '-D %s\n' dfs.datanode.same-disk-tiering.enabled=true \
    "dfs.datanode.same-disk-tiering.capacity-ratio.percentage=[$(cat "$D/run/capacity")]file:$D/data/$1" \
    dfs.datanode.round-robin-volume-choosing-policy.additional-available-space=0 dfs.blocksize=1048576
}

# web NAME PATH: the answer of the daemon's web server.
web() {
  local url=http://127.0.0.1:$(port "$1-http")
  [ "$MODE" != secure ] || url=https://localhost:$(port "$1-https")
  KRB5CCNAME=FILE:$D/krb/ccache-jmx curl -sk -m "${WAIT:-2}" --negotiate -u : "$url/$2"
}
# jmx NAME BEAN: the daemon's own metrics.
jmx() { web "$1" "jmx?qry=Hadoop:service=$2"; }

serves() {
  case $1 in
  kdc) pid kdc >/dev/null && (exec 3<>"/dev/tcp/127.0.0.1/$(port kdc)") 2>/dev/null ;;
  kms) pid kms >/dev/null && curl -s -m 2 -o "$D/log/kms.answer" "http://127.0.0.1:$(port kms)/kms/v1/keys/names" ;;
  nn*) jmx "$1" NameNode,name=FSNamesystem | grep -q '"tag.HAState"' ;;
  dn*) jmx "$1" DataNode,name=DataNodeInfo | grep -q 'ActorState\\" *: *\\"RUNNING' ;;
  esac
}

# await SECONDS WHAT COMMAND...: repeat the command until it succeeds.
await() {
  local end=$((SECONDS + $1)) what=$2; shift 2
  until "$@"; do
    [ $SECONDS -lt $end ] || { echo "$what: not within its time; see $D/log" >&2; return 1; }
    sleep 0.1
  done
}

start() {
  local n
  for n in "$@"; do pid "$n" >/dev/null || launch "$n"; done
  for n in "$@"; do await 120 "start of $n" serves "$n"; done
}
gone() { ! pid "$1" >/dev/null; }

# clock OFFSET: see above; "up" restores the right time.
clock() {
  movable "$1"
  signal KILL kdc
  : >"$D/run/clock"
  CLOCK=${1#0} start kdc
}

signal() {
  local p
  p=$(pid "$2") || return 0
  [ "$1" != CONT ] || [ ! -f "$D/run/$2.fenced" ] || set -- KILL "$2"
  kill "-$1" "$p"
  [ "$1" != KILL ] || await 20 "end of $2" gone "$2"
}

# running: every daemon has a process. A NameNode counts a dead DataNode as alive for a while.
running() { local n; for n in $(daemons); do pid "$n" >/dev/null || return 1; done; }

# live: all DataNodes report to every NameNode, and the (active) one accepts writes.
live() {
  local n state=
  for n in $NAMENODES; do
    state+=$(jmx "$n" NameNode,name=FSNamesystemState)
    jmx "$n" NameNode,name=FSNamesystemState | grep -q "\"NumLiveDataNodes\" : $DATANODES" || return 1
  done
  grep -q '"FSState" : "Operational"' <<<"$state"
}

# lacking: the number of replicas of every NameNode's blocks that are still to be made or reported;
# nothing if a NameNode does not answer. A standby does not report it through fsck, and the
# NameNodes' own counts are up to a second old.
lacking() {
  local state n count sum=0
  for n in $NAMENODES; do
    count=$(WAIT=60 web "$n" "fsck?ugi=$(id -un)&path=/" | sed -n 's/^ Missing replicas:[^0-9]*\([0-9]*\).*/\1/p')
    if [ -z "$count" ]; then
      state=$(jmx "$n" NameNode,name=FSNamesystem)
      grep -q '"tag.HAState" : "standby"' <<<"$state" || return 0
      count=$(sed -n 's/.*"\(Under\|Pending\)Replicat[a-zA-Z]*Blocks" : \([0-9]*\).*/\2/p' <<<"$state" | awk '{ n += $1 } END { print n }')
    fi
    sum=$((sum + count))
  done
  echo "$sum"
}

# settle: wait until no block lacks a replica, as long as the number decreases. A block whose copy
# was lost on a busy machine is tried again only after a while.
settle() {
  local now least='' end=$((SECONDS + 120))
  until now=$(lacking); [ "$now" = 0 ]; do
    if [ -n "$now" ] && { [ -z "$least" ] || [ "$now" -lt "$least" ]; }; then least=$now end=$((SECONDS + 120)); fi
    [ $SECONDS -lt $end ] || { echo "settle: ${now:-an unknown number of} replicas are missing and become no fewer; see $D/log" >&2; return 1; }
    sleep 0.1
  done
}

daemons() { [ "$MODE" != secure ] || echo kdc; ! has_kms || echo kms; echo $NAMENODES; seq -f dn%.0f "$DATANODES"; }
has_kms() { [ "$MODE" = secure ] || [ "$MODE" = encrypted ]; }

# format: make an empty file system on every NameNode.
format() {
  local n first=${NAMENODES%% *}
  [ ! -d "$D/data/$first/current" ] || return 0
  local args=(-D "dfs.ha.namenode.id=$first")
  [ "$MODE" = ha ] || args=()
  tool 256m org.apache.hadoop.hdfs.server.namenode.NameNode "${args[@]}" -D "dfs.namenode.name.dir=$D/data/$first" \
    -format -nonInteractive >"$D/log/format.log" 2>&1
  for n in ${NAMENODES#"$first"}; do cp -r "$D/data/$first" "$D/data/$n"; done
}

addresses() {
  local n rpc='' web=''
  for n in $NAMENODES; do
    rpc+=${rpc:+,}$HOST:$(port "$n")
    if [ "$MODE" = secure ]; then web+=${web:+,}https://localhost:$(port "$n-https"); else web+=${web:+,}http://127.0.0.1:$(port "$n-http"); fi
  done
  echo "HDFS_DIR=$D"
  echo "NAMENODES=$rpc"
  echo "WEBHDFS=$web"
  echo "HADOOP_CONF_DIR=$D/conf"
  [ "$MODE" != secure ] || { echo "KRB5_CONFIG=$KRB5_CONFIG"; echo "CA=$D/krb/ca.pem"; echo "KEYTABS=$D/krb"
    echo "INTEGRITY=$HOST:$(port nn-integrity)"; echo "PRIVACY=$HOST:$(port nn-privacy)"; }
}

up() {
  local n
  install
  for n in $(daemons); do signal CONT "$n"; done
  [ ! -e "$D/run/clock" ] || { signal KILL kdc; rm "$D/run/clock"; }
  [ ! -e "$D/run/capacity" ] || { rm "$D/run/capacity"; for n in $(seq -f dn%.0f "$DATANODES"); do signal KILL "$n"; done; }
  if [ -f "$D/up" ] && running && live; then addresses; return; fi
  configure
  if [ "$MODE" = secure ]; then
    kerberos
    start kdc
    await 10 "a ticket" env KRB5CCNAME="FILE:$D/krb/ccache-jmx" kinit -kt "$D/krb/nn.keytab" nn/localhost
  fi
  format
  for n in $(daemons); do pid "$n" >/dev/null || launch "$n"; done
  for n in $(daemons); do await 120 "start of $n" serves "$n"; done
  [ "$MODE" != ha ] || [ -n "$(active)" ] || failover nn1
  await 120 "the cluster" live
  touch "$D/up" "$D.use"
  [ "${TESTBED_IDLE:-0}" = 0 ] || pid idle >/dev/null || daemon idle "$BASH" "$HERE/hdfs.sh" idle "$D"
  addresses
}

down() {
  local n
  for n in idle $(daemons); do pid "$n" >/dev/null && kill -KILL "$(pid "$n")" || true; done
  for n in $(daemons); do await 20 "stop of $n" gone "$n"; done
  rm -rf "$D"
}

# idle: stop the cluster once nobody has used it for a while. Users hold a shared lock of $D.use and
# touch it.
idle() {
  exec 9>>"$D.use"
  while [ -f "$D/up" ]; do
    sleep 5
    [ $(($(date +%s) - $(stat -c %Y "$D.use"))) -gt "$TESTBED_IDLE" ] && flock -n -x 9 || continue
    rm -f "$D/run/idle.pid"
    down
  done
}

active() { local n; for n in $NAMENODES; do jmx "$n" NameNode,name=FSNamesystem | grep -q '"tag.HAState" : "active"' && echo "$n"; done; return 0; }

# failover NN: the other one steps down. If it cannot, because it is dead or paused, it is fenced: a
# paused one must not wake up as a second active one. A slow one is waited for. At the end NN is
# active and accepts writes.
failover() {
  local n p force=
  if [ "$(active)" = "$1" ] && leads "$1"; then return; fi
  for n in $NAMENODES; do
    [ "$n" != "$1" ] || continue
    if p=$(pid "$n") && ! grep -q '^State:.T' "/proc/$p/status"; then
      await 60 "an answer of $n" serves "$n"
      haadmin -transitionToStandby "$n"
    else
      force=--forceactive
      touch "$D/run/$n.fenced"
    fi
  done
  haadmin -transitionToActive $force "$1"
  await 60 "failover to $1" leads "$1"
}
# leads NN: it is active, and not in safe mode.
leads() {
  jmx "$1" NameNode,name=FSNamesystem | grep -q '"tag.HAState" : "active"' &&
    jmx "$1" NameNode,name=FSNamesystemState | grep -q '"FSState" : "Operational"'
}
haadmin() { tool 256m org.apache.hadoop.hdfs.tools.DFSHAAdmin "$@"; }

# flip PATH OFFSET [DN...]: the checksum beside the replica keeps its value. A NameNode knows the
# replicas of a file only a moment after the file is closed: before that, a reader may be offered
# only a damaged one.
flip() {
  local verb=$1 path=$2 off=$3 unit=0 at block
  shift 3; [ $# -gt 0 ] || set -- $(seq -f dn%.0f "$DATANODES")
  settle
  [ "$verb" != flip-unit ] || unit=$off off=0
  read -r at block < <(WAIT=60 web "$(active)" "fsck?ugi=$(id -un)&path=$path&files=1&blocks=1" | blockat "$off")
  [ -n "$block" ] || { echo "$path has no byte $off" >&2; return 1; }
  case $verb in
  flip-sum) flip_in $((7 + at / 512 * 4)) "${block}_*.meta" "$@" ;; # after a head of 7 bytes
  flip-unit) flip_in 1000 "blk_$((${block#blk_} + unit))" "$@" ;;
  *) flip_in "$at" "$block" "$@" ;;
  esac
}

# flip_in OFFSET NAME DN...: flip that byte of the files of this name.
flip_in() {
  local at=$1 name=$2 f b n=0
  shift 2
  for f in $(find "${@/#/$D/data/}" -name "$name"); do
    b=$(od -An -tu1 -j "$at" -N 1 "$f" | tr -d ' ')
    printf "\\x$(printf %x $((b ^ 0xff)))" | dd of="$f" bs=1 seek="$at" conv=notrunc status=none
    n=$((n + 1))
  done
  echo "flipped byte $at of $name on $n DataNodes"
  [ $n -gt 0 ]
}

# exclude [DN...]: see above.
exclude() {
  local n
  for n in "$@"; do echo "127.0.0.1:$(port "$n")"; done | replace "$D/conf/exclude"
  tool 256m org.apache.hadoop.hdfs.tools.DFSAdmin -refreshNodes
}

# capacity BYTES: see above.
capacity() {
  local n
  df -B1 --output=size "$D/data" | awk -v bytes="$1" 'NR == 2 { printf "%.9f\n", bytes / $1 }' >"$D/run/capacity"
  for n in $(seq -f dn%.0f "$DATANODES"); do signal KILL "$n"; done
  start $(seq -f dn%.0f "$DATANODES")
  await 120 "the cluster" live
}

# balance: see above. The Balancer leaves small blocks where they are by default. That of 3.4.2 fails after its first
# round, because it registers its metrics again.
balance() {
  tool 256m org.apache.hadoop.hdfs.server.balancer.Balancer -D dfs.balancer.getBlocks.min-block-size=1 -threshold 1 >"$D/log/balancer.log" 2>&1 ||
    grep -q 'Metrics source Balancer.* already exists' "$D/log/balancer.log"
}

# blockat OFFSET: read the output of fsck for a file, print the offset in the block and the block's
# name.
blockat() {
  awk -v off="$1" 'match($0, /blk_-?[0-9]+/) { b = substr($0, RSTART, RLENGTH); match($0, /len=[0-9]+/); n = substr($0, RSTART + 4, RLENGTH - 4) + 0
    if (off < n) { print off, b; exit } off -= n }'
}

verb=${1:-}; [ -n "$verb" ] || usage; shift
case $verb in
up|down) mkdir -p "$(dirname "$D")"; exec 9>"$D.lock"; flock 9; "$verb" ;;
install) install ;;
idle) idle ;;
start) start "$@" ;;
kill) signal KILL "$1" ;;
pause) signal STOP "$1" ;;
resume) signal CONT "$1" ;;
flip|flip-sum|flip-unit) flip "$verb" "$@" ;;
exclude|failover|settle|clock|capacity|balance) "$verb" "$@" ;;
safemode) tool 256m org.apache.hadoop.hdfs.tools.DFSAdmin -safemode "$1" ;;
webhdfs) curl -sSfk -m 60 --negotiate -u : -X "$1" -o "$D/log/webhdfs.log" "https://localhost:$(port nn-https)/webhdfs/v1$2?$3" ;;
fetchdt) tool 256m org.apache.hadoop.hdfs.tools.DelegationTokenFetcher --renewer pfs "$1" ;;
kinit) p=$1; case $p in nn|dn) p=$p/localhost ;; esac; kinit -kt "$D/krb/$1.keytab" "$p" ;;
fs) tool 512m org.apache.hadoop.fs.FsShell "$@" ;;
distcp) tool 512m org.apache.hadoop.tools.DistCp "$@" ;;
admin) tool 256m org.apache.hadoop.hdfs.tools.DFSAdmin "$@" ;;
ec) tool 256m org.apache.hadoop.hdfs.tools.ECAdmin "$@" ;;
key) tool 256m org.apache.hadoop.crypto.key.KeyShell "$@" ;;
crypto) tool 256m org.apache.hadoop.hdfs.tools.CryptoAdmin "$@" ;;
*) usage ;;
esac
