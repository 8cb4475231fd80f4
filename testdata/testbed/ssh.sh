#!/usr/bin/env bash
# OpenSSH from Debian (ssh, scp, sftp, sshd) and sshfs, for the tests of the gateway for SFTP and of the store on an SFTP host.
#
#   ssh.sh install    as root on Debian: install what is missing
#   ssh.sh up         install what is missing, and print where sshd is
#
# Status 3: this machine does not have them; the message says why.
set -euo pipefail
PATH=$PATH:/usr/sbin:/usr/lib/openssh
readonly packages=(openssh-client openssh-server openssh-sftp-server sshfs)

cannot() { echo "cannot run OpenSSH here: $*" >&2; exit 3; }
usage() { sed -n '/^#  /s/^#   //p' "$0" >&2; exit 2; }

# install: once per machine. Concurrent callers wait for each other, and for other installations.
install() {
  local p missing=0
  exec 8>"${TMPDIR:-/tmp}/pfs-ssh-$(id -u).lock"; flock 8
  for p in ssh scp sftp ssh-keygen sshfs sshd sftp-server; do
    command -v "$p" >/dev/null || missing=1
  done
  if [ "$missing" = 1 ]; then
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || cannot "missing; on Debian: apt-get install ${packages[*]}"
    echo "installing ${packages[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 # no sshd starts: the tests start their own
    local get=(apt-get -o DPkg::Lock::Timeout=600 -qq)
    "${get[@]}" install -y --no-install-recommends "${packages[@]}" >&2 ||
      { "${get[@]}" update >&2 && "${get[@]}" install -y --no-install-recommends "${packages[@]}" >&2; } ||
      cannot "apt-get could not install them"
  fi
  exec 8>&-
}

up() {
  install
  [ "$(id -u)" != 0 ] || mkdir -p /run/sshd # in which sshd drops its rights
  echo "SSHD=$(command -v sshd)"
}

case ${1:-} in
install | up) "$1" ;;
*) usage ;;
esac
