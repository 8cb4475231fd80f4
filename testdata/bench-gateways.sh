#!/usr/bin/env bash
# Measure the gateway for SFTP beside OpenSSH's own server, with the same client, disk and cipher, as a table in
# Markdown. Both are durable in the rows with "synced" (put -f). It needs sftp, ssh-keygen and sshd.
#   RUNS=3      turns that count for each contender
#   SIZE=1024   MiB of the large file
#   FILES=10000 small files of 4 KiB
set -euo pipefail
cd "$(dirname "$0")/.."
RUNS=${RUNS:-3} SIZE=${SIZE:-1024} FILES=${FILES:-10000}
. testdata/bench-lib.sh
start_service --sftp 127.0.0.1:0
ssh-keygen -q -t ed25519 -N '' -f "$dir/key"
ctl key add "$dir/key.pub" >/dev/null
ours=$(sed -n 's/.*sftp -P \([0-9]*\) .*/\1/p' "$dir/pfsd.log")

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
start_sshd
mkdir "$dir/theirs"

# client PORT LINE...: a batch of sftp.
client() {
  local user=bench at=.
  [ "$1" = "$ours" ] || user=$(id -un) at=$dir/theirs
  printf '%s\n' "cd $at" "${@:2}" | sftp -q -F /dev/null -c aes128-gcm@openssh.com -P "$1" -i "$dir/key" -o IdentitiesOnly=yes \
    -o UserKnownHostsFile="$dir/known" -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR -b - "$user@127.0.0.1"
}

head -c $((SIZE << 20)) /dev/urandom >"$dir/big"
mkdir "$dir/small"
for i in $(seq "$FILES"); do head -c 4096 /dev/urandom >"$dir/small/f$i"; done
for round in $(seq 0 "$RUNS"); do
  for who in ours theirs; do
    row "up.$who" client "${!who}" "put -f $dir/big big"
    row "fast.$who" client "${!who}" "put $dir/big fast"
    row "down.$who" client "${!who}" "get big $dir/back"
    cmp "$dir/big" "$dir/back"
    row "small.$who" client "${!who}" "put -f -R $dir/small small$round"
    row "sfast.$who" client "${!who}" "put -R $dir/small sfast$round"
    row "sdown.$who" client "${!who}" "get -R small$round $dir/small.back"
    diff -r "$dir/small" "$dir/small.back"
    rm -rf "$dir/back" "$dir/small.back"
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
