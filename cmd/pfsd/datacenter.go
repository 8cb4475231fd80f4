package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/urfave/cli/v2"
)

// datacenter is a name and where its store is.
type datacenter struct {
	name  string
	store backends.Spec
	own   string // directory to make for it; empty if the store must be there

	dir         pfs.Path // of homes and public; empty for the root of the store
	serviceOwns bool     // no file is given to users
	mounts      []namespace.MappedDir
	homeQuota   namespace.Quota

	engine        string // of jobs; empty or "local": the machine that submits them
	engineOptions map[string]string
}

// in returns the datacenter as the namespace has it, over its store.
func (d datacenter) in(store pfs.FileSystem) namespace.Datacenter {
	return namespace.Datacenter{Name: d.name, FS: store, Dir: d.dir, ServiceOwns: d.serviceOwns, Mapped: d.mounts, HomeQuota: d.homeQuota}
}

// defaultDatacenter is "local", in the data directory.
func defaultDatacenter(data string) datacenter {
	dir := filepath.Join(data, "store")
	return datacenter{name: "local", store: backends.Spec{URL: backends.FileURL(dir)}, own: dir}
}

// readDatacenters returns those of the command line, else those of the file, else the one in the
// data directory.
func readDatacenters(c *cli.Context, file configFile, data string) ([]datacenter, error) {
	switch pairs := c.StringSlice("datacenter"); {
	case len(pairs) > 0:
		return parseDatacenters(pairs)
	case len(file.datacenters) > 0:
		return file.datacenters, nil
	}
	return []datacenter{defaultDatacenter(data)}, nil
}

// parseDatacenters parses NAME=URL pairs, and reports all wrong ones.
func parseDatacenters(pairs []string) (dcs []datacenter, err error) {
	var wrong []error
	for _, pair := range pairs {
		name, storeURL, ok := strings.Cut(pair, "=")
		if !ok || storeURL == "" {
			wrong = append(wrong, cliargs.Usagef("--datacenter %q: NAME=URL is needed, for example dc1=file:///srv/pfs", pair))
			continue
		}
		if findDatacenter(dcs, name) >= 0 {
			wrong = append(wrong, cliargs.Usagef("--datacenter %s is given twice", name))
		}
		dc := datacenter{name: name, store: backends.Spec{URL: storeURL}}
		if err := dc.check(); err != nil {
			wrong = append(wrong, cliargs.Usagef("--datacenter %q: %v", name, cause(err)))
		}
		dcs = append(dcs, dc)
	}
	return dcs, errors.Join(wrong...)
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

// check refuses an invalid datacenter.
func (d datacenter) check() error {
	if err := d.in(nil).CheckNames(); err != nil {
		return err
	}
	if err := d.checkEngine(); err != nil {
		return err
	}
	return backends.Check(d.store)
}
