package main

import (
	"context"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/pfs"
)

// nameTime is the timeout for resolving server names.
const nameTime = 5 * time.Second

// clusters enforces the rule of checkApart where URLs do not show that two stores are on one
// cluster. It asks each store after opening it and before its first use. It is safe for concurrent
// use.
type clusters struct {
	datacenters []datacenter

	mu    sync.Mutex
	known map[string]string // cluster identities by datacenter, for open stores
}

func newClusters(dcs []datacenter) *clusters {
	return &clusters{datacenters: dcs, known: map[string]string{}}
}

// clusterNamer is a store that knows the identity of its cluster, or "".
type clusterNamer interface {
	Cluster(ctx context.Context) (string, error)
}

// admit refuses the store of dc if it is also another datacenter's, open or not, and the tree would
// show something twice. It asks nothing if no paths overlap.
func (c *clusters) admit(ctx context.Context, dc datacenter, store pfs.FileSystem) error {
	meets := c.meets(dc)
	if len(meets) == 0 {
		return nil
	}
	id, err := "", error(nil)
	if namer, ok := store.(clusterNamer); ok {
		if id, err = namer.Cluster(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.known[dc.name] = id
	c.mu.Unlock()
	for _, m := range meets {
		if c.same(ctx, dc, m.other) {
			c.mu.Lock()
			delete(c.known, dc.name)
			c.mu.Unlock()
			return m.err
		}
	}
	return nil
}

// meeting is another datacenter that shows the same paths of its store, with the error to return if
// the stores are the same.
type meeting struct {
	other datacenter
	err   error
}

// meets returns the datacenters with stores of the same kind that show the same paths.
func (c *clusters) meets(dc datacenter) (all []meeting) {
	for _, other := range c.datacenters {
		if other.name == dc.name {
			continue
		}
		for _, a := range dc.shows() {
			for _, b := range other.shows() {
				if a.store.scheme == b.store.scheme && a.meets(b) {
					all = append(all, meeting{other, second(a, b)})
				}
			}
		}
	}
	return all
}

// same reports whether the stores of a and b are on one cluster: by the identity of the cluster or,
// if a store is not open or does not tell, by the addresses of its servers.
func (c *clusters) same(ctx context.Context, a, b datacenter) bool {
	c.mu.Lock()
	x, y := c.known[a.name], c.known[b.name]
	c.mu.Unlock()
	switch {
	case !sameName(a.fileSystem(), b.fileSystem()):
		return false
	case x != "" && y != "":
		return x == y
	}
	ctx, cancel := context.WithTimeout(ctx, nameTime)
	defer cancel()
	here := machineAddresses()
	of := addressesOf(ctx, backends.Addresses(a.store), here)
	for address := range addressesOf(ctx, backends.Addresses(b.store), here) {
		if of[address] {
			return true
		}
	}
	return false
}

// addressesOf returns the resolved addresses of servers, each host:port. Addresses of this machine,
// whose hosts are in here, count as one.
func addressesOf(ctx context.Context, servers []string, here map[string]bool) map[string]bool {
	set := map[string]bool{}
	for _, server := range servers {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			continue
		}
		hosts, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			hosts = []string{strings.ToLower(host)} // unresolved equal names are still the same
		}
		for _, host := range hosts {
			if ip := net.ParseIP(host); ip != nil && (ip.IsLoopback() || ip.IsUnspecified() || here[ip.String()]) {
				host = "localhost"
			}
			set[net.JoinHostPort(host, port)] = true
		}
	}
	return set
}

// machineAddresses returns the addresses of this machine.
func machineAddresses() map[string]bool {
	set := map[string]bool{}
	all, _ := net.InterfaceAddrs() // without them, names and other addresses still count
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			set[n.IP.String()] = true
		}
	}
	return set
}
