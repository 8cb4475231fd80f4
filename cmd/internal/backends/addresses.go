package backends

import (
	"net"
	"os"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs/cephfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs"
	"github.com/paddlecloud/pfs/pfs/sftpfs"
)

// monitorPorts are the default ports of a monitor.
var monitorPorts = []string{"3300", "6789"}

// Addresses returns the host:port of each server by which a store's cluster is found: those of the
// URL, or else those of its configuration. It is empty for a store without such servers, and for a
// Spec that cannot be opened.
func Addresses(s Spec) []string {
	scheme, _, _ := strings.Cut(s.URL, ":")
	r, err := newRequest(scheme, backends[scheme].options, s)
	if err != nil {
		return nil
	}
	switch scheme {
	case "hdfs":
		return r.nameNodes()
	case "cephfs":
		return r.monitors()
	case "sftp":
		if o, err := sftpfs.ParseURL(r.url); err == nil {
			return []string{o.Address}
		}
	}
	return nil
}

// nameNodes returns the addresses of the NameNodes.
func (r *request) nameNodes() []string {
	dir, err := r.confDir()
	if err != nil {
		return nil
	}
	o, err := hdfsfs.ParseURL(r.url, dir)
	if err != nil {
		return nil
	}
	return o.NameNodes
}

// monitors returns the addresses of the Ceph monitors. One without a port is listed with both
// default ports.
func (r *request) monitors() (all []string) {
	o, err := cephfs.ParseURL(r.url)
	if err != nil {
		return nil
	}
	if len(o.Monitors) == 0 {
		o.Monitors = monitorsIn(r.conf())
	}
	for _, m := range o.Monitors {
		if _, _, err := net.SplitHostPort(m); err == nil {
			all = append(all, m)
			continue
		}
		for _, port := range monitorPorts {
			all = append(all, net.JoinHostPort(strings.Trim(m, "[]"), port))
		}
	}
	return all
}

// monitorsIn returns the monitors in a ceph.conf, in any of the forms that Ceph knows: host,
// host:port, and [v2:host:port/nonce,v1:host:port/nonce].
func monitorsIn(conf string) (all []string) {
	text, err := os.ReadFile(conf)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, "=")
		if strings.NewReplacer(" ", "_", "-", "_").Replace(strings.TrimSpace(key)) != "mon_host" {
			continue
		}
		value, _, _ = strings.Cut(value, "#")
		all = slices.AppendSeq(all, strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(" ,;\t\n\r", r) }))
	}
	for i, m := range all {
		if _, v, ok := strings.Cut(m, "v2:"); ok {
			m = v
		} else if _, v, ok := strings.Cut(m, "v1:"); ok {
			m = v
		}
		m, _, _ = strings.Cut(m, "/")
		all[i] = strings.TrimSuffix(m, "]")
		if strings.Count(all[i], "[") > strings.Count(all[i], "]") {
			all[i] += "]"
		}
	}
	return all
}
