#!/usr/bin/env bash
# Measure the gateways, as tables in Markdown: SFTP beside OpenSSH's own server, with the same client, disk and cipher,
# and WebHDFS beside a real NameNode and DataNodes, with curl. It needs sftp, ssh-keygen and sshd, and what
# testbed/hdfs.sh needs.
#   RUNS=3      turns that count for each contender
#   SIZE=1024   MiB of the large file
#   FILES=10000 small files of 4 KiB
#   PARTS='sftp webhdfs'   the parts to run
# A turn before those that count warms all up, with a twentieth of the small files.
set -euo pipefail
cd "$(dirname "$0")/.."
RUNS=${RUNS:-3} SIZE=${SIZE:-1024} FILES=${FILES:-10000} PARTS=${PARTS:-sftp webhdfs}
. testdata/bench-lib.sh
at_end() { [ ! -f "$dir/up" ] || HDFS_DIR=$dir/hdfs testdata/testbed/hdfs.sh down || true; }

# start_sshd starts OpenSSH's server for this user on a free port.
start_sshd() {
  ssh-keygen -q -t ed25519 -N '' -f "$dir/host"
  cat >"$dir/sshd_config" <<C
ListenAddress 127.0.0.1
HostKey $dir/host
PidFile none
AuthorizedKeysFile $dir/key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
Subsystem sftp $(command -v /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/libexec/sftp-server | head -n 1)
C
  mkdir -p /run/sshd 2>/dev/null || true
  for theirs in $(seq 42022 42090); do
    "$(command -v sshd || echo /usr/sbin/sshd)" -D -e -f "$dir/sshd_config" -p "$theirs" 2>"$dir/sshd.log" &
    sleep 0.5
    ! kill -0 $! 2>/dev/null || return 0
  done
  cat "$dir/sshd.log" >&2
  return 1
}
# turn ROUND: sets the small files of a turn: $small is their directory, $files their number.
turn() {
  round=$1 small=$dir/small files=$FILES
  [ "$round" != 0 ] || small=$dir/few files=$few
}

# client PORT LINE...: a batch of sftp.
client() {
  local user=bench at=.
  [ "$1" = "$ours" ] || user=$(id -un) at=$dir/theirs
  printf '%s\n' "cd $at" "${@:2}" | sftp -q -F /dev/null -c aes128-gcm@openssh.com -P "$1" -i "$dir/key" -o IdentitiesOnly=yes \
    -o UserKnownHostsFile="$dir/known" -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR -b - "$user@127.0.0.1"
}

# sftp_part compares the gateway with OpenSSH's server. Both are durable in the rows with "synced" (put -f).
sftp_part() {
  ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
  ctl key add "$dir/key.pub" >/dev/null
  ours=$(sed -n 's/.*sftp -P \([0-9]*\) .*/\1/p' "$dir/pfsd.log")
  start_sshd
  mkdir "$dir/theirs"
  local i
  for i in $(seq 0 "$RUNS"); do
    turn "$i"
    for who in ours theirs; do
      row "up.$who" client "${!who}" "put -f $dir/big big"
      row "fast.$who" client "${!who}" "put $dir/big fast"
      row "down.$who" client "${!who}" "get big $dir/back"
      cmp "$dir/big" "$dir/back"
      row "small.$who" client "${!who}" "put -f -R $small small$round"
      row "sfast.$who" client "${!who}" "put -R $small sfast$round"
      # The copies stay: ext4 searches long for an inode after many were freed.
      row "sdown.$who" client "${!who}" "get -R small$round $dir/back.$round.$who"
      diff -r "$small" "$dir/back.$round.$who"
      rm "$dir/back"
    done
  done

  head_of "$SIZE MiB by sftp" "speed, OpenSSH = 1"
  for way in "up:up, synced" "fast:up, OpenSSH not synced" "down:down"; do
    line "${way%%:*}.theirs" "OpenSSH, ${way#*:}" "${way%%:*}.theirs"
    line "${way%%:*}.ours" "pfsd, ${way#*:}" "${way%%:*}.theirs"
  done
  head_of "$FILES files of 4 KiB by sftp" "speed, OpenSSH = 1"
  for way in "small:up, synced" "sfast:up, OpenSSH not synced" "sdown:down"; do
    line "${way%%:*}.theirs" "OpenSSH, ${way#*:}" "${way%%:*}.theirs"
    line "${way%%:*}.ours" "pfsd, ${way#*:}" "${way%%:*}.theirs"
  done
}

# to WHO: the directory of the contender, as a URL of WebHDFS.
to() {
  case $1 in
  real) echo "$(sed -n 's/^WEBHDFS=//p' "$dir/up")/webhdfs/v1/real" ;;
  *) echo "$(sed -n 's,.*WebHDFS on \(http[^ ]*/webhdfs/v1\).*,\1,p' "$dir/pfsd.log")/pfs/$1/home/bench" ;;
  esac
}
user() { [ "$1" = real ] && id -un || echo bench; }

# web: curl that says why a request was refused.
web() { curl -sS --fail-with-body "$@" || { cat "$dir/answer" >&2; return 1; }; }

# web_put WHO: the large file in two steps.
web_put() {
  local there
  there=$(web -X PUT -o "$dir/answer" -w '%{redirect_url}' "$(to "$1")/big?op=CREATE&overwrite=true&user.name=$(user "$1")")
  web -T "$dir/big" -o "$dir/answer" "$there"
}
web_get() { web -L -o "$dir/back" "$(to "$1")/big?op=OPEN&user.name=$(user "$1")"; }

# each WHO DIRECTORY OP: the URLs of all small files.
each() { seq "$files" | sed "s,.*,url = \"$(to "$1")/$2/f&?op=$3\&user.name=$(user "$1")\"," ; }

# web_put_each WHO DIRECTORY: all small files, by one client that keeps its connection: the first steps, then the second ones.
web_put_each() {
  each "$1" "$2" CREATE | sed "a output = \"$dir/answer\"" | web --fail-early -X PUT -K - -w '%{redirect_url}\n' |
    awk -v dir="$dir" -v small="$small" '{ printf "url = \"%s\"\nupload-file = \"%s/f%d\"\noutput = \"%s/answer\"\n", $0, small, NR, dir }' >"$dir/there"
  web --fail-early -K "$dir/there"
}
web_get_each() {
  each "$1" "$2" OPEN | awk -v dir="$dir/small.back" '{ printf "%s\noutput = \"%s/f%d\"\n", $0, dir, NR }' | web --fail-early -L -K -
}

# webhdfs_part compares the gateway over a directory and over an HDFS with that HDFS itself.
webhdfs_part() {
  local i way who
  for i in $(seq 0 "$RUNS"); do
    turn "$i"
    for who in real hdfs local; do
      row "wup.$who" web_put "$who"
      row "wdown.$who" web_get "$who"
      cmp "$dir/big" "$dir/back"
      mkdir "$dir/small.back"
      row "wsmall.$who" web_put_each "$who" "web$round"
      row "wsdown.$who" web_get_each "$who" "web$round"
      diff -r "$small" "$dir/small.back"
      rm -rf "$dir/back" "$dir/small.back"
    done
  done
  for way in "wup:$SIZE MiB up by WebHDFS" "wdown:$SIZE MiB down by WebHDFS" "wsmall:$FILES files of 4 KiB up by WebHDFS" "wsdown:$FILES files of 4 KiB down by WebHDFS"; do
    head_of "${way#*:}" "speed, the NameNode = 1"
    for who in "real:NameNode and DataNodes" "hdfs:pfsd over the same HDFS" "local:pfsd over a directory"; do
      line "${way%%:*}.${who%%:*}" "${who#*:}" "${way%%:*}.real"
    done
  done
}

printf 'webhdfs: {trust-user-name: true}\ndatacenters:\n  local: {store: "file://%s"}\n' "$dir/local" >"$dir/pfsd.yaml"
mkdir "$dir/local"
case $PARTS in *webhdfs*)
  HDFS_DIR=$dir/hdfs testdata/testbed/hdfs.sh up >"$dir/up"
  printf '  hdfs: {store: "hdfs:///", options: {conf-dir: "%s"}}\n' "$(sed -n 's/^HADOOP_CONF_DIR=//p' "$dir/up")" >>"$dir/pfsd.yaml" ;;
esac
start_service --config "$dir/pfsd.yaml" --current local --sftp 127.0.0.1:0 --webhdfs 127.0.0.1:0
head -c $((SIZE << 20)) /dev/urandom >"$dir/big"
few=$(((FILES + 19) / 20))
mkdir "$dir/small" "$dir/few"
for i in $(seq "$FILES"); do head -c 4096 /dev/urandom >"$dir/small/f$i"; done
for i in $(seq "$few"); do ln "$dir/small/f$i" "$dir/few"; done
for part in $PARTS; do "${part}_part"; done
