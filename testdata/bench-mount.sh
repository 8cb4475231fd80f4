#!/usr/bin/env bash
# Measure the kernel mount beside the native file system, rclone mount, and ceph-fuse for CephFS, as
# tables in Markdown. As root, on Linux 6.9 or later. rclone is built once, from its source.
#   ROUNDS=3   turns that count for each contender
#   ONLY=      a regular expression: only rows that match, such as 'cold|write'
#   STORES=1   start an HDFS and a CephFS; 0 leaves them out
# Exit code 1: a row failed or has no figure; the last line names it.
set -euo pipefail
cd "$(dirname "$0")/.."
ROUNDS=${ROUNDS:-3} ONLY=${ONLY:-} STORES=${STORES:-1} VERSION=v1.75.1
. testdata/bench-lib.sh
cache=${XDG_CACHE_HOME:-$HOME/.cache}/pfs-bench
export PFS_TESTBED_DIR=$dir/testbed
at_end() {
  awk -v dir="$dir/" 'index($2, dir) == 1 { print $2 }' /proc/mounts | xargs -r -n 1 umount -l || true
  [ "$STORES" = 0 ] || testdata/testbed/testbed.sh down || true
}

# build_rclone builds rclone with the commands and remotes that are needed: all of it takes minutes.
build_rclone() {
  mkdir -p "$dir/rclone" "$cache"
  cat >"$dir/rclone/main.go" <<'GO'
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	_ "github.com/rclone/rclone/backend/webdav"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/mount"
)

func main() { cmd.Main() }
GO
  (
    cd "$dir/rclone" && go mod init rclone && go mod edit -require "github.com/rclone/rclone@$VERSION" &&
      go mod tidy && go build -trimpath -o "$cache/rclone-$VERSION" .
  ) >"$dir/rclone/log" 2>&1 || { cat "$dir/rclone/log" >&2; return 1; }
}
rclone=$cache/rclone-$VERSION
[ -x "$rclone" ] || build_rclone || rclone=
go build -trimpath ${TAGS:+"-tags=$TAGS"} -o "$dir/bench-mount" ./testdata/bench-mount
stores=
[ "$STORES" = 0 ] || stores="testdata/testbed/testbed.sh up"
start_service
home=/pfs/local/home/bench
ctl ls "$home" >/dev/null # which makes it
"$dir/bench-mount" -dir "$dir/files" -rounds "$ROUNDS" -only "$ONLY" -rclone "$rclone" -stores "$stores" \
  -service "$bin/paddlectl mount --foreground --cache-size 0 --root $home" -home "$dir/data/store/home/bench"
