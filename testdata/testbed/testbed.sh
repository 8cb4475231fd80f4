#!/usr/bin/env bash
# The real stores that tests run against, hdfs.sh and ceph.sh, a Kubernetes, k8s.sh, programs that check mounts,
# posix.sh, a browser, chromium.sh, and OpenSSH, ssh.sh.
#
#   testbed.sh install           install what is missing, as root on Debian; elsewhere use what exists
#   testbed.sh up                start an HDFS and a CephFS, and print a configuration for pfsd
#   testbed.sh down              stop all clusters
#   testbed.sh run COMMAND...    run tests with clusters of their own, stop these, and print which ran
#
# With CI=true "run" fails if a real part did not run.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export PFS_TESTBED_DIR=${PFS_TESTBED_DIR:-${TMPDIR:-/tmp}/pfs-testbed-$(id -u)}

usage() { sed -n '/^#  /s/^#   //p' "$0" >&2; exit 2; }

# install ignores failures: the tests that need a part report it.
install() {
  HDFS_MODE=secure "$HERE/hdfs.sh" install || true
  "$HERE/ceph.sh" install || true
  "$HERE/posix.sh" install || true
  "$HERE/chromium.sh" install || true
  "$HERE/ssh.sh" install || true
  clients || true
  "$HERE/k8s.sh" install || true
}

# clients: litmus, the suite for WebDAV servers, from Debian.
clients() {
  ! command -v litmus >/dev/null || return 0
  DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qq install -y --no-install-recommends litmus >&2
}

up() {
  local hdfs ceph
  hdfs=$("$HERE/hdfs.sh" up)
  ceph=$("$HERE/ceph.sh" up "$PFS_TESTBED_DIR/ceph")
  printf '%s\n' "$hdfs" "$ceph"
  value() { sed -n "s/^$1=//p" <<<"$hdfs"$'\n'"$ceph"; }
  cat <<CONFIG

# pfsd serve --data DIR --config FILE, where FILE is:
datacenters:
  hdfs:
    store: hdfs:///
    options:
      conf-dir: $(value HADOOP_CONF_DIR)
  ceph:
    store: cephfs://$(value MONITORS)/$(value FILESYSTEM)
    options:
      user: $(value USER)
      keyring: $(value KEYRING)
CONFIG
}

down() {
  local mode status=0
  for mode in simple ha secure encrypted; do
    [ ! -d "$PFS_TESTBED_DIR/hdfs-$mode" ] || HDFS_MODE=$mode "$HERE/hdfs.sh" down || status=1
  done
  [ ! -d "$PFS_TESTBED_DIR/ceph" ] || "$HERE/ceph.sh" down "$PFS_TESTBED_DIR/ceph" || status=1
  [ ! -d "$PFS_TESTBED_DIR/k8s" ] || "$HERE/k8s.sh" down || status=1
  return $status
}

run() {
  local status=0
  PFS_TESTBED_DIR=$(mktemp -d "${TMPDIR:-/tmp}/pfs-test.XXXXXX")
  export PFS_TESTBED_REPORT=$PFS_TESTBED_DIR/report
  export TESTBED_JAVA=-XX:TieredStopAtLevel=1 # half the processor time of a start
  mkdir "$PFS_TESTBED_REPORT"
  trap 'down || true; rm -rf "$PFS_TESTBED_DIR"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  "$@" || status=$?
  parts || [ "$status" != 0 ] || [ "${CI:-}" != true ] ||
    { echo "With CI=true every real part must run." >&2; status=1; }
  return $status
}

# parts prints which real parts ran. It fails if one did not.
parts() {
  local part name all=0
  printf '\n%-28s %s\n' 'real part' 'what became of it'
  while IFS='|' read -r part name; do
    printf '%-28s ' "$name"
    if grep -qs '^ran ' "$PFS_TESTBED_REPORT/$part"; then
      echo "ran: $(sed -n 's/^ran //p' "$PFS_TESTBED_REPORT/$part" | sort -u | paste -sd ' ')"
    else
      all=1
      echo "SKIPPED: $(sed -n 's/^cannot //p' "$PFS_TESTBED_REPORT/$part" 2>/dev/null | head -n 1 | grep . || missing "$part")"
    fi
  done <<'PARTS'
hdfs-simple|HDFS
hdfs-ha|HDFS, two NameNodes
hdfs-secure|HDFS, Kerberos
cephfs|CephFS
posix|programs on a mount
chromium|Chromium
ssh|OpenSSH
kubernetes|Kubernetes
PARTS
  return $all
}

# missing prints why no test may have asked for a part.
missing() {
  case "$1 ${GOFLAGS:-}" in
  cephfs*-tags=ceph*) echo "no test asked for it" ;;
  cephfs*) echo "the tests were built without GOFLAGS=-tags=ceph, for which libcephfs-dev and librados-dev must be there" ;;
  *) echo "no test asked for it" ;;
  esac
}

verb=${1:-}; [ -n "$verb" ] || usage; shift
case $verb in
install | up | down) "$verb" ;;
run) [ $# -gt 0 ] || usage; run "$@" ;;
*) usage ;;
esac
