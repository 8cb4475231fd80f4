package main

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
)

// datacenter is a name and where its store is.
type datacenter struct {
	name string
	url  string
	own  string // directory to make for it; empty if the store must be there
}

// parseDatacenters reads NAME=URL pairs. Without any there is one, "local", in the
// data directory.
func parseDatacenters(pairs []string, data string) ([]datacenter, error) {
	if len(pairs) == 0 {
		dir := filepath.Join(data, "store")
		return []datacenter{{name: "local", url: backends.FileURL(dir), own: dir}}, nil
	}
	var dcs []datacenter
	for _, pair := range pairs {
		name, storeURL, ok := strings.Cut(pair, "=")
		if !ok || storeURL == "" {
			return nil, cliargs.Usagef("--datacenter %q: NAME=URL is needed, for example dc1=file:///srv/pfs", pair)
		}
		if reason := pfs.CheckName(name); reason != "" {
			return nil, cliargs.Usagef("--datacenter %q: %s", pair, reason)
		}
		if name == "public" {
			return nil, cliargs.Usagef("--datacenter %q: /pfs/public is the public tree of the current datacenter; choose another name", pair)
		}
		if findDatacenter(dcs, name) >= 0 {
			return nil, cliargs.Usagef("--datacenter %s is given twice", name)
		}
		if err := backends.Check(storeURL); err != nil {
			return nil, cliargs.Usagef("--datacenter %s: %v", name, cause(err))
		}
		dcs = append(dcs, datacenter{name: name, url: storeURL})
	}
	return dcs, nil
}

func findDatacenter(dcs []datacenter, name string) int {
	return slices.IndexFunc(dcs, func(d datacenter) bool { return d.name == name })
}

func names(dcs []datacenter) []string {
	list := make([]string, len(dcs))
	for i, d := range dcs {
		list[i] = d.name
	}
	return list
}

// shown returns the URL without a password.
func (d datacenter) shown() string {
	u, err := url.Parse(d.url)
	if err != nil {
		return d.url
	}
	return u.Redacted()
}
