package hdfsfs

import (
	"net"
	"path"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// defaultRPCPort is the port of a NameNode that is given without one.
const defaultRPCPort = "8020"

// ParseURL makes Options of a store URL and the Hadoop configuration in confDir, which
// may be "":
//
//	hdfs://nn1,nn2:8021/root   NameNodes
//	hdfs://nameservice/root    a name service of the configuration
//	hdfs:///root               fs.defaultFS of the configuration
//
// User and, where the configuration asks for it, principal and keytab are left to
// the caller.
func ParseURL(store, confDir string) (Options, error) {
	const op = "hdfsfs.ParseURL"
	rest, ok := strings.CutPrefix(store, "hdfs://")
	if !ok {
		return Options{}, pfs.Errorf(op, "", pfs.Invalid, "store %q does not begin with \"hdfs://\"", store)
	}
	hosts, root, _ := strings.Cut(rest, "/")
	conf, err := loadConf(confDir)
	if err != nil {
		return Options{}, err
	}
	o := conf.options()
	o.Root = path.Clean("/" + root)
	if hosts == "" {
		hosts = conf.defaultHost()
	}
	if hosts == "" {
		return Options{}, pfs.Errorf(op, "", pfs.Invalid, "store %q names no NameNode, and no Hadoop configuration does: set HADOOP_CONF_DIR or write hdfs://host:port/...", store)
	}
	if all := conf.service(hosts); len(all) > 0 {
		for i, address := range all {
			if _, _, err := net.SplitHostPort(address); err != nil {
				return Options{}, pfs.Errorf(op, "", pfs.Invalid,
					"NameNode %d of %s has the address %q in %s: host:port is needed (dfs.namenode.rpc-address)", i+1, hosts, address, confDir)
			}
		}
		o.NameNodes = all
		return o, nil
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if err := o.addNameNode(host); err != nil {
			return Options{}, err
		}
	}
	return o, nil
}

// addNameNode adds a NameNode that is given by its address alone.
func (o *Options) addNameNode(address string) error {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		name, port = strings.Trim(address, "[]"), defaultRPCPort
	}
	if name == "" || strings.ContainsAny(name, "@?#/ ") {
		return pfs.Errorf("hdfsfs.ParseURL", "", pfs.Invalid, "NameNode %q is no host or host:port", address)
	}
	o.NameNodes = append(o.NameNodes, net.JoinHostPort(name, port))
	return nil
}
