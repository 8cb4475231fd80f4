#!/usr/bin/env bash
# The clients of SSH from Debian (ssh, scp, sftp, sshfs), for the tests of the gateway for SFTP, and OpenSSH's own server of SFTP, with
# which it is compared.
#
#   ssh.sh install    as root on Debian: install what is missing
#   ssh.sh up         install what is missing, and print where sshfs is
#
# Status 3: this machine does not have them; the message says why.
set -euo pipefail
readonly packages=(openssh-client openssh-sftp-server sshfs)

cannot() { echo "cannot run the clients of SSH here: $*" >&2; exit 3; }
usage() { sed -n '/^#  /s/^#   //p' "$0" >&2; exit 2; }

# install: once per machine. Concurrent callers wait for each other, and for other installations.
install() {
  local p missing=0
  exec 8>"${TMPDIR:-/tmp}/pfs-ssh-$(id -u).lock"; flock 8
  for p in ssh scp sftp ssh-keygen sshfs /usr/lib/openssh/sftp-server; do
    command -v "$p" >/dev/null || missing=1
  done
  if [ "$missing" = 1 ]; then
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || cannot "missing; on Debian: apt-get install ${packages[*]}"
    echo "installing ${packages[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    local get=(apt-get -o DPkg::Lock::Timeout=600 -qq)
    "${get[@]}" install -y --no-install-recommends "${packages[@]}" >&2 ||
      { "${get[@]}" update >&2 && "${get[@]}" install -y --no-install-recommends "${packages[@]}" >&2; } ||
      cannot "apt-get could not install them"
  fi
  exec 8>&-
}

up() {
  install
  echo "SSHFS=$(command -v sshfs)"
}

case ${1:-} in
install | up) "$1" ;;
*) usage ;;
esac
