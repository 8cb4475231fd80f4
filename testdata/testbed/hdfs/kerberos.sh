# A KDC of the cluster's own (realm PFS.TEST). Sourced by hdfs.sh.

kerberos() {
  local k=$D/krb
  mkdir -p "$k"
  cat >"$k/krb5.conf" <<CONF
[libdefaults]
default_realm = PFS.TEST
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
PFS.TEST = {
  kdc = 127.0.0.1:$(port kdc)
}
[domain_realm]
localhost = PFS.TEST
CONF
  cat >"$k/kdc.conf" <<CONF
[kdcdefaults]
kdc_listen = 127.0.0.1:$(port kdc)
kdc_tcp_listen = 127.0.0.1:$(port kdc)
[realms]
PFS.TEST = {
  database_name = $k/principal
  key_stash_file = $k/stash
  max_life = 10h
  max_renewable_life = 7d
  supported_enctypes = aes256-cts:normal aes128-cts:normal
}
CONF
  [ -f "$k/complete" ] || { principals "$k" >"$D/log/kadmin.log" 2>&1; touch "$k/complete"; }
}

# principals: keytabs of the daemons (nn, dn, each with HTTP's key too) and of users (pfs, alice, bob).
principals() {
  local k=$1 p f
  kdb5_util create -s -r PFS.TEST -P testbed
  for p in nn/localhost dn/localhost HTTP/localhost pfs alice bob; do
    kadmin.local -q "addprinc -randkey $p"
    for f in "${p%%/*}" $([ "$p" != HTTP/localhost ] || echo nn dn); do
      kadmin.local -q "ktadd -norandkey -k $k/$f.keytab $p"
    done
  done
  keytool -genkeypair -alias https -keyalg RSA -validity 365 -dname CN=localhost -ext san=dns:localhost,ip:127.0.0.1 \
    -keystore "$k/https.jks" -storepass changeit -keypass changeit
  keytool -exportcert -rfc -alias https -keystore "$k/https.jks" -storepass changeit >"$k/ca.pem"
}
