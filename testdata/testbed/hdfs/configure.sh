# The configuration of a cluster. Sourced by hdfs.sh.

# port NAME: the port of that name, a free one that is chosen once. Ports are below the range for
# outgoing connections.
port() {
  local p
  p=$(sed -n "s/^$1 //p" "$D/ports")
  while [ -z "$p" ]; do
    p=$((20000 + RANDOM % 10000))
    if grep -q " $p$" "$D/ports" || (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null; then p=; fi
  done
  grep -q "^$1 " "$D/ports" || echo "$1 $p" >>"$D/ports"
  echo "$p"
}

prop() { echo "  <property><name>$1</name><value>$2</value></property>"; }

configure() {
  mkdir -p "$D"/{conf,data,log,run,tmp}
  touch "$D/ports"
  : >"$D/conf/exclude"
  local n; for n in $NAMENODES; do port "$n" >/dev/null; port "$n-http" >/dev/null; done
  cp "$HERE/hdfs/log4j.properties" "$D/conf/"
  # The jars contain no web pages, but each daemon requires a web application: an empty one serves
  # JMX and WebHDFS.
  for n in hdfs datanode; do mkdir -p "$D/conf/webapps/$n/WEB-INF"; echo '<web-app/>' >"$D/conf/webapps/$n/WEB-INF/web.xml"; done
  site core; site hdfs
  ! has_kms || { site kms; { echo '<configuration>'; kms_acls; echo '</configuration>'; } | replace "$D/conf/kms-acls.xml"; }
  [ "$MODE" != secure ] || ssl
}

# replace FILE: write FILE from standard input, atomically: a running daemon may read it at any
# time.
replace() { cat >"$1.new" && mv "$1.new" "$1"; }

site() { { echo '<configuration>'; "$1_site"; echo '</configuration>'; } | replace "$D/conf/$1-site.xml"; }

core_site() {
  if [ "$MODE" = ha ]; then prop fs.defaultFS hdfs://testbed; else prop fs.defaultFS "hdfs://$HOST:$(port nn)"; fi
  prop hadoop.tmp.dir "$D/data"
  local u; for u in $(printf '%s\n' root pfs "$(id -un)" | sort -u); do
    prop "hadoop.proxyuser.$u.hosts" '*'; prop "hadoop.proxyuser.$u.users" '*'
  done
  ! has_kms || prop hadoop.security.key.provider.path "kms://http@$HOST:$(port kms)/kms"
  [ "$MODE" = secure ] || return 0
  prop hadoop.security.authentication kerberos
  prop hadoop.security.authorization true
  prop hadoop.rpc.protection authentication
  # Two more ports of the NameNode protect RPC. Only the NameNode knows them as its own: others would use
  # them instead of the first one.
  prop hadoop.security.saslproperties.resolver.class org.apache.hadoop.security.IngressPortBasedResolver
  prop ingress.port.sasl.configured.ports "$(port nn-integrity),$(port nn-privacy)"
  prop "ingress.port.sasl.prop.$(port nn-integrity)" integrity
  prop "ingress.port.sasl.prop.$(port nn-privacy)" privacy
  prop hadoop.http.filter.initializers org.apache.hadoop.hdfs.web.AuthFilterInitializer
  prop hadoop.http.authentication.type kerberos
  prop hadoop.http.authentication.kerberos.principal HTTP/localhost@PFS.TEST
  prop hadoop.http.authentication.kerberos.keytab "$D/krb/HTTP.keytab"
  prop hadoop.security.auth_to_local "RULE:[2:\$1@\$0](nn@.*)s/.*/$(id -un)/ RULE:[2:\$1@\$0](dn@.*)s/.*/$(id -un)/ DEFAULT"
}

kms_site() {
  prop hadoop.kms.http.host 127.0.0.1
  prop hadoop.kms.http.port "$(port kms)"
  prop hadoop.kms.key.provider.uri "jceks://file@$D/data/kms.jks"
  [ "$MODE" = secure ] || return 0
  prop hadoop.http.filter.initializers org.apache.hadoop.http.lib.StaticUserWebFilter # that of core-site.xml is for WebHDFS
  prop hadoop.kms.authentication.type kerberos
  prop hadoop.kms.authentication.kerberos.principal HTTP/localhost@PFS.TEST
  prop hadoop.kms.authentication.kerberos.keytab "$D/krb/HTTP.keytab"
}

# kms_acls: the rights to keys that have no others.
kms_acls() { local right; for right in MANAGEMENT GENERATE_EEK DECRYPT_EEK READ; do prop "default.key.acl.$right" '*'; done; }

hdfs_site() {
  prop dfs.replication 3
  prop dfs.namenode.fs-limits.min-block-size 65536
  prop dfs.namenode.acls.enabled true
  # A DataNode is considered dead after 16 s instead of 10 minutes.
  prop dfs.heartbeat.interval 1
  prop dfs.namenode.heartbeat.recheck-interval 3000
  prop dfs.namenode.safemode.extension 0
  prop dfs.namenode.redundancy.interval.seconds 1s
  # A replica that a dead DataNode should have made is made elsewhere after 5 s instead of 5
  # minutes.
  prop dfs.namenode.reconstruction.pending.timeout-sec 5
  # Many replicas are made at once, instead of two per DataNode and heartbeat.
  prop dfs.namenode.replication.max-streams 50
  prop dfs.namenode.replication.max-streams-hard-limit 100
  prop dfs.namenode.replication.work.multiplier.per.iteration 50
  prop dfs.client.block.write.replace-datanode-on-failure.best-effort true
  prop dfs.datanode.du.reserved 0
  prop dfs.hosts.exclude "$D/conf/exclude"
  prop dfs.datanode.max.transfer.threads 8192
  case $MODE in
  ha) ha_site ;;
  *)
    prop dfs.namenode.name.dir "$D/data/nn"
    prop dfs.namenode.rpc-address "$HOST:$(port nn)"
    prop dfs.namenode.http-address "127.0.0.1:$(port nn-http)" ;;
  esac
  [ "$MODE" != secure ] || secure_site
  [ "$MODE" != encrypted ] || encrypted_site
}

# ha_site: two NameNodes over one directory of edits, switched by hand (verb failover).
ha_site() {
  prop dfs.nameservices testbed
  prop dfs.ha.namenodes.testbed nn1,nn2
  prop dfs.namenode.shared.edits.dir "file://$D/data/edits"
  prop dfs.client.failover.proxy.provider.testbed org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider
  prop dfs.ha.fencing.methods 'shell(/bin/true)'
  prop dfs.ha.automatic-failover.enabled false
  prop dfs.ha.tail-edits.period 1s
  # DataNodes report new blocks late, as busy ones do.
  prop dfs.blockreport.incremental.intervalMsec 500
  local n; for n in nn1 nn2; do
    prop "dfs.namenode.rpc-address.testbed.$n" "127.0.0.1:$(port $n)"
    prop "dfs.namenode.http-address.testbed.$n" "127.0.0.1:$(port $n-http)"
  done
}

encrypted_site() {
  prop dfs.encrypt.data.transfer true
  aes
  prop dfs.block.access.token.enable true
  prop dfs.block.access.token.lifetime 1 # minutes
  prop dfs.block.access.key.update.interval 1
}

aes() { prop dfs.encrypt.data.transfer.cipher.suites AES/CTR/NoPadding; }

secure_site() {
  local d
  for d in namenode datanode; do
    prop "dfs.$d.kerberos.principal" "${d:0:1}n/localhost@PFS.TEST"
    prop "dfs.$d.keytab.file" "$D/krb/${d:0:1}n.keytab"
  done
  prop dfs.web.authentication.kerberos.principal HTTP/localhost@PFS.TEST
  prop dfs.web.authentication.kerberos.keytab "$D/krb/HTTP.keytab"
  prop dfs.block.access.token.enable true
  prop dfs.data.transfer.protection authentication,integrity,privacy # the client chooses one
  aes
  prop dfs.http.policy HTTPS_ONLY
  prop dfs.namenode.accesstime.precision 0 # reads do not set access times
  prop dfs.namenode.https-address "localhost:$(port nn-https)"
  prop dfs.datanode.hostname localhost
}

ssl() {
  local side store
  for side in server client; do
    { echo '<configuration>'
      for store in keystore truststore; do
        prop "ssl.$side.$store.location" "$D/krb/https.jks"
        prop "ssl.$side.$store.password" changeit
        prop "ssl.$side.$store.keypassword" changeit
      done
      echo '</configuration>'; } | replace "$D/conf/ssl-$side.xml"
  done
}
