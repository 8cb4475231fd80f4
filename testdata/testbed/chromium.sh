#!/usr/bin/env bash
# Chromium from Debian, for the tests of the web pages.
#
#   chromium.sh install    as root on Debian: install it if it is missing
#   chromium.sh up         install it if it is missing, and print where it is
#
# Status 3: this machine has no Chromium; the message says why.
set -euo pipefail

cannot() { echo "cannot run Chromium here: $*" >&2; exit 3; }
usage() { sed -n '/^#  /s/^#   //p' "$0" >&2; exit 2; }

# install: once per machine. Concurrent callers wait for each other, and for other installations.
install() {
  exec 8>"${TMPDIR:-/tmp}/pfs-chromium-$(id -u).lock"; flock 8
  if ! command -v chromium >/dev/null; then
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || cannot "missing; on Debian: apt-get install chromium fonts-dejavu-core"
    echo "installing chromium" >&2
    export DEBIAN_FRONTEND=noninteractive
    local get=(apt-get -o DPkg::Lock::Timeout=600 -qq)
    "${get[@]}" install -y --no-install-recommends chromium fonts-dejavu-core >&2 ||
      { "${get[@]}" update >&2 && "${get[@]}" install -y --no-install-recommends chromium fonts-dejavu-core >&2; } ||
      cannot "apt-get could not install it"
  fi
  exec 8>&-
}

up() {
  install
  echo "BIN=$(command -v chromium)"
}

case ${1:-} in
install | up) "$1" ;;
*) usage ;;
esac
