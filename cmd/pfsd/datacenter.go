package main

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

// datacenter is a name and where its store is.
type datacenter struct {
	name  string
	store backends.Spec
	own   string // directory to make for it; empty if the store must be there
}

// defaultDatacenter is "local", in the data directory.
func defaultDatacenter(data string) datacenter {
	dir := filepath.Join(data, "store")
	return datacenter{name: "local", store: backends.Spec{URL: backends.FileURL(dir)}, own: dir}
}

// readDatacenters returns those of the command line, else those of the file, else the
// one in the data directory.
func readDatacenters(c *cli.Context, file configFile, data string) ([]datacenter, error) {
	switch pairs := c.StringSlice("datacenter"); {
	case len(pairs) > 0:
		return parseDatacenters(pairs)
	case len(file.datacenters) > 0:
		return file.datacenters, nil
	}
	return []datacenter{defaultDatacenter(data)}, nil
}

// parseDatacenters reads NAME=URL pairs.
func parseDatacenters(pairs []string) ([]datacenter, error) {
	var dcs []datacenter
	for _, pair := range pairs {
		name, storeURL, ok := strings.Cut(pair, "=")
		if !ok || storeURL == "" {
			return nil, cliargs.Usagef("--datacenter %q: NAME=URL is needed, for example dc1=file:///srv/pfs", pair)
		}
		if findDatacenter(dcs, name) >= 0 {
			return nil, cliargs.Usagef("--datacenter %s is given twice", name)
		}
		dc := datacenter{name: name, store: backends.Spec{URL: storeURL}}
		if err := dc.check(); err != nil {
			return nil, cliargs.Usagef("--datacenter %q: %v", name, cause(err))
		}
		dcs = append(dcs, dc)
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
	u, err := url.Parse(d.store.URL)
	if err != nil {
		return d.store.URL
	}
	return u.Redacted()
}
