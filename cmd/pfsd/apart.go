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

// defaultPorts are those that a store is reached at by hosts without one.
var defaultPorts = map[string][]string{"hdfs": {"8020"}, "cephfs": {"3300", "6789"}}

// shown is a directory of a store that the tree shows.
type shown struct {
	what   string // as a message names it
	mapped bool   // and not home or public
	store  storeName
	at     pfs.Path // on the whole store
	live   pfs.Path // at, or of what that is a snapshot
}

// storeName is which store a URL names.
type storeName struct {
	scheme string
	fs     string   // of a CephFS, its name; empty for the one that the cluster takes
	hosts  []string // "" stands for those of conf
	conf   string   // the cluster's own configuration; may be empty
}

// same reports whether two names may be of one store. Where both name a configuration it
// decides: hosts may be names that it gives a meaning.
func (a storeName) same(b storeName) bool {
	if a.scheme != b.scheme || !sameName(a.fs, b.fs) || a.conf != "" && b.conf != "" && a.conf != b.conf {
		return false
	}
	return slices.ContainsFunc(a.hosts, func(h string) bool {
		return slices.Contains(b.hosts, h) && (h != "" || a.conf == b.conf)
	})
}

// sameName reports whether two names may be of one file system of a CephFS. The one that a
// cluster takes by itself may have any name.
func sameName(a, b string) bool { return a == b || a == "" || b == "" }

// checkApart refuses directories of the stores by which something in the tree had a second
// name, and with it a second policy: homes or what is public of two datacenters one in the
// other, a mapped directory and one of those, or two mapped ones. Stores are the same if
// their URLs have a host in common; what URLs do not tell, clusters finds. A snapshot may
// be mapped beside what it is of.
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

// second is the error about a and b, by which something has a second name.
func second(a, b shown) error {
	return pfs.Errorf("pfsd.checkApart", "", pfs.Invalid,
		"%s and %s are one in the other on their store: what is in both would have a second name and two rules", a.what, b.what)
}

// fileSystem returns the name of the file system that a CephFS is, below which are the
// paths on it; "" for the one that the cluster takes, and for other stores.
func (d datacenter) fileSystem() string {
	u := d.storeURL()
	if u == nil || u.Scheme != "cephfs" {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	return name
}

// storeURL returns the URL of the store, nil for one without "//". It is not that of the web: there
// may be several hosts, each with a port, and an HDFS has paths as they are written.
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

// shows returns the directories that the tree shows of d; none of a store in memory, which
// no other datacenter has.
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
		live := namespace.MappedDir{Dir: at}.Live() // the root of a store may be in a snapshot too
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

// confOf returns what the options of a store name as its cluster's configuration.
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

// overlaps reports whether a and b show something that is the same.
func (a shown) overlaps(b shown) bool {
	return a.store.same(b.store) && a.meets(b)
}

// meets reports whether a and b show something that is the same if their stores are.
func (a shown) meets(b shown) bool {
	p, q := a.live, b.live
	if a.mapped && b.mapped {
		if p, q = a.at, b.at; (a.at == a.live) != (b.at == b.live) {
			return false
		}
	}
	return p.Within(q) || q.Within(p)
}

// storeHosts returns the hosts of a store's URL, each as whoever else names it would: in
// small letters and without a port that is the default. One without a host is "".
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

// realPath returns the directory that dir is, by no link, as far as it is there.
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
