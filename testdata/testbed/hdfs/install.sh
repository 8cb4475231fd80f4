# Install the requirements of a cluster: Java, Hadoop's jars, and for Kerberos a KDC. Sourced by
# hdfs.sh.

# cannot prints why this machine cannot run a cluster; status 3 makes callers skip tests.
cannot() { echo "cannot run HDFS here: $*" >&2; exit 3; }

# need PROGRAM PACKAGE...: install the Debian packages if the program is missing.
need() {
  local program=$1; shift
  command -v "$program" >/dev/null && return
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] ||
    cannot "$program is missing; on Debian: apt-get install $*"
  echo "installing $*" >&2
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2 ||
    { apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2; } ||
    cannot "apt-get could not install $*"
}

# install: everything, once per machine. Concurrent callers wait for each other.
install() {
  command -v flock >/dev/null || cannot "flock (util-linux) is missing"
  mkdir -p "$CACHE"
  exec 8>"$CACHE/lock"; flock 8
  need java openjdk-17-jre-headless
  need curl curl
  [ "$MODE" != secure ] || { need krb5kdc krb5-kdc krb5-admin-server krb5-user; need kadmin.local krb5-admin-server; need kinit krb5-user; need keytool openjdk-17-jre-headless; clocks; }
  complete "$LIB" SHA512SUMS || jars "$LIB" pom.xml SHA512SUMS
  ! has_kms || complete "$LIB-kms" SHA512SUMS.kms || jars "$LIB-kms" kms.xml SHA512SUMS.kms
  exec 8>&-
}

# clocks: libfaketime, if available: one test moves a clock.
clocks() {
  faketime_library >/dev/null || (need faketime faketime) || true
}

# complete LIB SUMS: the jars in LIB are there. Those of the default version are the ones of SUMS.
complete() { if [ "$VERSION" = 3.4.2 ]; then cmp -s "$HERE/hdfs/$2" "$1/.complete"; else [ -e "$1/.complete" ]; fi; }

# jars LIB POM SUMS: the dependencies of POM, checked against SUMS. An unreachable
# repository is not tried again for ten minutes: every test would wait for it. Jars of an earlier
# SUMS stay until all new ones are there: a cluster may be running from them.
jars() {
  [ -z "$(find "$CACHE/unreachable" -mmin -10 2>/dev/null)" ] || cannot "Maven Central could not be reached a moment ago"
  need mvn maven
  echo "fetching Hadoop into $1" >&2
  rm -rf "$1.new"
  mvn -q -B -Dstyle.color=never -f "$HERE/hdfs/$2" "-Dhadoop.version=$VERSION" -Dmaven.repo.local="$CACHE/m2" \
    dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$1.new" >&2 ||
    { touch "$CACHE/unreachable"; cannot "Maven Central could not be reached"; }
  [ "$VERSION" != 3.4.2 ] || (cd "$1.new" && sha512sum --quiet --strict -c "$HERE/hdfs/$3" >&2) ||
    { rm -rf "$1.new"; echo "the jars are not those of $3" >&2; exit 1; }
  cp "$HERE/hdfs/$3" "$1.new/.complete"
  rm -rf "$CACHE/m2" "$1"
  mv "$1.new" "$1"
}
