package main

import (
	"cmp"
	"net"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
)

// defaultPorts are the ports of stores whose hosts have none.
var defaultPorts = map[string][]string{"hdfs": {"8020"}, "cephfs": {"3300", "6789"}, "sftp": {"22"}}

// shown is a directory of a store that appears in the tree.
type shown struct {
	what   string // its name in messages
	mapped bool   // a mapped directory, not home or public
	store  storeName
	at     pfs.Path // path on the whole store
	live   pfs.Path // at, or the source of that snapshot
}

// storeName identifies a store by its URL.
type storeName struct {
	scheme string
	fs     string   // name of a CephFS file system; empty for the cluster's default
	hosts  []string // "" means the hosts in conf
	conf   string   // the cluster's own configuration; may be empty
}

// same reports whether two names may mean the same store. If both name a configuration, that
// decides: it may define the meaning of host names.
func (a storeName) same(b storeName) bool {
	if a.scheme != b.scheme || !sameName(a.fs, b.fs) || a.conf != "" && b.conf != "" && a.conf != b.conf {
		return false
	}
	return slices.ContainsFunc(a.hosts, func(h string) bool {
		return slices.Contains(b.hosts, h) && (h != "" || a.conf == b.conf)
	})
}

// sameName reports whether two names may mean the same CephFS file system. The default of a cluster
// may have any name.
func sameName(a, b string) bool { return a == b || a == "" || b == "" }

// checkApart refuses directories that would give something in the tree a second name, and with it a
// second policy: nested homes or public directories of two datacenters, a mapped directory and one
// of those, or two mapped directories. Stores are the same if their URLs share a host; clusters
// detects the cases that URLs do not show. A snapshot may be mapped beside its source.
func checkApart(dcs []datacenter) error {
	var before []shown
	for _, d := range dcs {
		for _, b := range d.shows() {
			for _, a := range before {
				if a.overlaps(b) {
					return second(a, b)
				}
			}
			before = append(before, b)
		}
	}
	return nil
}

// second returns the error about a and b, which give something a second name.
func second(a, b shown) error {
	return pfs.Errorf("pfsd.checkApart", "", pfs.Invalid,
		"%s and %s overlap on their store: their common files would have two names and two policies", a.what, b.what)
}

// fileSystem returns the name of a CephFS file system; "" for the cluster's default, and for other
// stores.
func (d datacenter) fileSystem() string {
	u := d.storeURL()
	if u == nil || u.Scheme != "cephfs" {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	return name
}

// storeURL parses the URL of the store, nil for one without "//". It is not a web URL: there may be
// several hosts, each with a port, and HDFS paths are not escaped.
func (d datacenter) storeURL() *url.URL {
	scheme, rest, ok := strings.Cut(d.store.URL, "://")
	if !ok {
		return nil
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, at, _ := strings.Cut(rest, "/")
	if plain, err := url.PathUnescape(at); err == nil && scheme != "hdfs" {
		at = plain
	}
	return &url.URL{Scheme: scheme, Host: hosts, Path: "/" + at, RawQuery: query}
}

// shows returns the directories of d that appear in the tree; none for a store in memory, which no
// other datacenter shares.
func (d datacenter) shows() (all []shown) {
	u := d.storeURL()
	if u == nil {
		return nil
	}
	root := u.Path
	if u.Scheme == "file" {
		root = filepath.ToSlash(realPath(filepath.FromSlash(root)))
	}
	if u.Scheme == "cephfs" {
		_, root, _ = strings.Cut(strings.TrimPrefix(root, "/"), "/")
	}
	store := storeName{u.Scheme, d.fileSystem(), storeHosts(u), d.confOf(u)}
	add := func(name string, mapped bool, dir pfs.Path) {
		at := pfs.Path(path.Join("/", root, string(dir)))
		live := namespace.MappedDir{Dir: at}.Live() // the root of a store may be inside a snapshot too
		all = append(all, shown{"/pfs/" + d.name + "/" + name, mapped, store, at, live})
	}
	for _, dir := range d.in(nil).OwnDirs() {
		add(dir.Base(), false, dir)
	}
	for _, m := range d.mounts {
		add("mnt/"+m.Name, true, m.Dir)
	}
	return all
}

// confOf returns the cluster configuration that the options of a store name.
func (d datacenter) confOf(u *url.URL) string {
	key := "conf"
	if u.Scheme == "hdfs" {
		key = "conf-dir"
	}
	conf := cmp.Or(d.store.Options[key], u.Query().Get(key))
	if conf == "" || filepath.IsAbs(conf) {
		return conf
	}
	return filepath.Join(d.store.Dir, conf)
}

// overlaps reports whether a and b show the same data.
func (a shown) overlaps(b shown) bool {
	return a.store.same(b.store) && a.meets(b)
}

// meets reports whether a and b show the same data if their stores are the same.
func (a shown) meets(b shown) bool {
	p, q := a.live, b.live
	if a.mapped && b.mapped {
		if p, q = a.at, b.at; (a.at == a.live) != (b.at == b.live) {
			return false
		}
	}
	return p.Within(q) || q.Within(p)
}

// storeHosts returns the hosts of a store's URL in canonical form: in lower case and without the
// default port. A URL without a host has the host "".
func storeHosts(u *url.URL) (hosts []string) {
	if u.Scheme == "file" {
		return []string{""}
	}
	for h := range strings.SplitSeq(strings.ToLower(u.Host), ",") {
		if name, port, err := net.SplitHostPort(h); err == nil && slices.Contains(defaultPorts[u.Scheme], port) {
			h = name
		}
		hosts = append(hosts, strings.Trim(h, "[]"))
	}
	return hosts
}

// realPath resolves the links in dir, as far as the path exists.
func realPath(dir string) string {
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		return at
	}
	above := filepath.Dir(dir)
	if above == dir {
		return dir
	}
	return filepath.Join(realPath(above), filepath.Base(dir))
}
