#!/usr/bin/env bash
# python2.sh prints the path of a Python 2.7: the one of this machine, or that of Debian 11, which the first call
# unpacks into the user's cache. Debian 12 and later have none.
set -euo pipefail
if python2 --version >/dev/null 2>&1; then
  command -v python2
  exit
fi
pool=https://deb.debian.org/debian/pool/main
packages="
44f0cdc1a343303d31c55fcb3a6402cfe326adf749ec30e375e6e0c0c5f7c1f7 p/python2.7/python2.7-minimal_2.7.18-8+deb11u1_amd64.deb
85833c92314011b89bbead6f9a5a7a360b5ee4f9b95e001225afead4ebf9f7d3 p/python2.7/libpython2.7-minimal_2.7.18-8+deb11u1_amd64.deb
3e627d6d8992b853e000b8a4c09dda613fb767cdb711a2eac20ebc9f867b593c p/python2.7/libpython2.7-stdlib_2.7.18-8+deb11u1_amd64.deb
30ca89bfddae5fa6e0a2a044f22b6e50cd17c4bc6bc850c579819aeab7101f0f libf/libffi/libffi7_3.3-6_amd64.deb"
dir=${XDG_CACHE_HOME:-$HOME/.cache}/pfs-python/python2
mkdir -p "$dir"
exec 9>"$dir.lock"
flock 9
if [ ! -x "$dir/python2" ]; then
  while read -r sum path; do
    [ -n "$sum" ] || continue
    file=$dir/${path##*/}
    curl --silent --show-error --fail --retry 3 --output "$file" "$pool/$path"
    echo "$sum  $file" | sha256sum --check --quiet >&2
    dpkg-deb --extract "$file" "$dir"
    rm "$file"
  done <<<"$packages"
  cat >"$dir/python2.new" <<END
#!/bin/sh
PYTHONHOME='$dir/usr' LD_LIBRARY_PATH='$dir/usr/lib/x86_64-linux-gnu' exec '$dir/usr/bin/python2.7' "\$@"
END
  chmod +x "$dir/python2.new"
  mv "$dir/python2.new" "$dir/python2"
fi
echo "$dir/python2"
