#!/usr/bin/env bash
# Programs that check file systems, for the tests of mounts: pjdfstest 0.2.2 and fsx 0.3.2 from crates.io, and fio,
# stress-ng, git, rsync, Python and fusermount3 from Debian.
#
#   posix.sh install    as root on Debian: install missing packages; anywhere: build pjdfstest and fsx once
#   posix.sh up         install what is missing and print where the programs are
#
# PFS_TESTBED_CACHE: the directory for what is built, by default $XDG_CACHE_HOME/pfs-testbed.
# Status 3: this machine cannot run the programs on a mount; the message says why.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${PFS_TESTBED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pfs-testbed}
LIB=$CACHE/posix-1
readonly packages=(fio stress-ng git rsync python3 python3-numpy fuse3)

cannot() { echo "cannot run the programs here: $*" >&2; exit 3; }
usage() { sed -n '/^#  /s/^#   //p' "$0" >&2; exit 2; }

# debian PACKAGE...: install packages, as root on Debian.
debian() {
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || cannot "missing: $*; on Debian: apt-get install $*"
  echo "installing $*" >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -qq --no-install-recommends "$@" >&2 ||
    { apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends "$@" >&2; } ||
    cannot "apt-get could not install $*"
}

# install: everything, once per machine. Concurrent callers wait for each other.
install() {
  local p
  PATH=$PATH:$HOME/.cargo/bin
  mkdir -p "$LIB"
  exec 8>"$CACHE/posix.lock"; flock 8
  for p in fio stress-ng git rsync python3 fusermount3; do
    command -v "$p" >/dev/null || { debian "${packages[@]}"; break; }
  done
  built pjdfstest 0.2.2 && built fsx 0.3.2 || build
  exec 8>&-
}

# built PROGRAM VERSION: whether it is built, here or by the user.
built() {
  [ ! -x "$LIB/bin/$1" ] || return 0
  [ "$("$(command -v "$1" || echo false)" --version 2>/dev/null)" = "$1 $2" ] || return 1
  mkdir -p "$LIB/bin"
  cp "$(command -v "$1")" "$LIB/bin/"
}

# build: a fast build matters more than fast programs, which wait for the mount.
build() {
  command -v cargo >/dev/null || debian cargo-web
  echo "building pjdfstest and fsx" >&2
  CARGO_TARGET_DIR=$LIB/target CARGO_PROFILE_DEV_DEBUG=0 cargo install --debug --quiet --locked --force --root "$LIB" \
    pjdfstest@0.2.2 fsx@0.3.2 >&2 || cannot "cargo could not build pjdfstest and fsx"
  rm -rf "$LIB/target"
}

up() {
  local p python=python3
  [ -c /dev/fuse ] || cannot "there is no /dev/fuse"
  [ "$(id -u)" = 0 ] || cannot "only root can mount for all users"
  install
  for p in python3 /usr/bin/python3; do
    ! "$p" -c 'import numpy, sqlite3' 2>/dev/null || python=$p
  done
  echo "BIN=$LIB/bin"
  echo "CONFIG=$HERE/posix"
  echo "PYTHON=$(command -v "$python")"
}

case ${1:-} in
install | up) "$1" ;;
*) usage ;;
esac
