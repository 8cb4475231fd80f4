package hdfsfs

import (
	"net"
	"net/url"
	"strings"

	"github.com/colinmarc/hdfs/v2/hadoopconf"
	"github.com/paddlecloud/pfs/pfs"
)

// conf is the content of core-site.xml and hdfs-site.xml.
type conf map[string]string

// loadConf reads the configuration in dir; "" is an empty one.
func loadConf(dir string) (conf, error) {
	if dir == "" {
		return nil, nil
	}
	c, err := hadoopconf.Load(dir)
	if err != nil {
		return nil, pfs.Errorf("hdfsfs.ParseURL", "", pfs.Invalid, "Hadoop configuration in %s: %w", dir, err)
	}
	if c == nil {
		return nil, pfs.Errorf("hdfsfs.ParseURL", "", pfs.NotExist, "no core-site.xml or hdfs-site.xml in %s", dir)
	}
	return conf(c), nil
}

// options returns the options that do not depend on the NameNodes.
func (c conf) options() Options {
	o := Options{DatanodeHostname: c["dfs.client.use.datanode.hostname"] == "true"}
	if strings.EqualFold(c["hadoop.security.authentication"], "kerberos") {
		service, _, _ := strings.Cut(c["dfs.namenode.kerberos.principal"], "@")
		o.Kerberos = &Kerberos{Service: service, Protection: c.protection()}
	}
	return o
}

// protection returns the strongest allowed protection.
func (c conf) protection() string {
	if c["dfs.encrypt.data.transfer"] == "true" {
		return "privacy"
	}
	strongest := ""
	for p := range strings.SplitSeq(strings.ToLower(c["dfs.data.transfer.protection"]), ",") {
		strongest = max(strongest, strings.TrimSpace(p)) // their order is the alphabet's
	}
	return strongest
}

// defaultHost is the host of fs.defaultFS.
func (c conf) defaultHost() string {
	for _, key := range []string{"fs.defaultFS", "fs.default.name"} {
		if u, err := url.Parse(c[key]); err == nil && u.Scheme == "hdfs" {
			return u.Host
		}
	}
	return ""
}

// service returns the addresses of the NameNodes of a name service, or of the one NameNode whose
// address host is. None means that the configuration does not know it.
func (c conf) service(host string) (all []string) {
	if ids := c["dfs.ha.namenodes."+host]; ids != "" {
		for id := range strings.SplitSeq(ids, ",") {
			all = append(all, c["dfs.namenode.rpc-address."+host+"."+strings.TrimSpace(id)])
		}
		return all
	}
	if host != c.defaultHost() || host == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, defaultRPCPort)
	}
	return []string{host}
}
