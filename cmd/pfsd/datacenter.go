package main

import (
	"context"
	"errors"
	"fmt"
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
}

// in returns the datacenter as the namespace has it, over its store.
func (d datacenter) in(store pfs.FileSystem) namespace.Datacenter {
	return namespace.Datacenter{Name: d.name, FS: store, Dir: d.dir, ServiceOwns: d.serviceOwns, Mapped: d.mounts}
}

// probe tries the store of a datacenter, and what is asked of it there.
func (t *trial) probe(ctx context.Context, d datacenter, store pfs.FileSystem) (says string, err error) {
	dir := d.ownDir(ctx, store)
	says, err = t.probeStore(ctx, pfs.NewSub(store, dir))
	if err != nil {
		return "", err
	}
	if err := t.probeOwner(ctx, d, store, dir); err != nil {
		return "", err
	}
	t.doing("looking at what is mapped")
	if err := d.in(store).CheckMapped(ctx); err != nil {
		return "", err
	}
	if len(d.mounts) > 0 {
		says += fmt.Sprintf("; directories mapped: %d", len(d.mounts))
	}
	return says, nil
}

// probeOwner gives a directory to somebody, where files are given to users.
func (t *trial) probeOwner(ctx context.Context, d datacenter, store pfs.FileSystem, dir pfs.Path) error {
	given, err := pfs.For(store, pfs.Owner{Name: "nobody", UID: 65534, GID: 65534})
	if d.serviceOwns || errors.Is(err, pfs.Unsupported) {
		return nil
	}
	name := dir.Join("pfsd-check-" + pfs.NewID())
	t.doing("giving a directory to a user, which takes the rights of a superuser there (\"owners: service\" does without)")
	if err == nil {
		err = given.Mkdir(ctx, name, 0o700)
	}
	if err != nil {
		return t.fail(err)
	}
	t.doing("removing the directory " + string(name))
	if err := store.Remove(ctx, name); err != nil {
		return t.fail(err)
	}
	return nil
}

// ownDir returns the directory of the store that the service has for itself; the one in
// which that will be made, where it is not there yet.
func (d datacenter) ownDir(ctx context.Context, store pfs.FileSystem) pfs.Path {
	if d.dir == "" {
		return pfs.Root
	}
	if _, err := store.Stat(ctx, d.dir); errors.Is(err, pfs.NotExist) {
		return d.dir.Parent()
	}
	return d.dir
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
