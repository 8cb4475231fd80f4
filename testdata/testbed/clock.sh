# Wrong clocks. Sourced by hdfs.sh and ceph.sh.

# faketime_library prints the path of the library that moves the clock of a program.
faketime_library() {
  local f
  for f in /usr/lib/*/faketime/libfaketimeMT.so.1 /usr/lib*/faketime/libfaketimeMT.so.1; do
    [ ! -e "$f" ] || { echo "$f"; return; }
  done
  return 1
}

# moved OFFSET COMMAND...: run it with its clock moved; not moved if OFFSET is empty.
moved() {
  local offset=$1; shift
  [ -z "$offset" ] || set -- env "LD_PRELOAD=$(faketime_library)" "FAKETIME=$offset" FAKETIME_DONT_FAKE_MONOTONIC=1 "$@"
  "$@"
}

# movable OFFSET: end the script if clocks cannot be moved here.
movable() { [ "$1" = 0 ] || faketime_library >/dev/null || cannot "libfaketime is missing; on Debian: apt-get install libfaketime"; }
