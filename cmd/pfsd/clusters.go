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

// nameTime is how long the names of servers may take to be found.
const nameTime = 5 * time.Second

// clusters holds the rule of checkApart over what URLs do not tell: that two stores,
// named in different ways, are of one cluster. That is asked when a store is open, and
// before anybody uses it. Its methods may be called from many goroutines.
type clusters struct {
	datacenters []datacenter

	mu    sync.Mutex
	known map[string]string // what clusters call themselves, by the datacenters whose stores are open
}

func newClusters(dcs []datacenter) *clusters {
	return &clusters{datacenters: dcs, known: map[string]string{}}
}

// clusterNamer is a store that knows what its cluster calls itself; "" if that does not say.
type clusterNamer interface {
	Cluster(ctx context.Context) (string, error)
}

// admit refuses the store of dc if it turns out to be another datacenter's, open or not,
// and the tree would show something of it twice. Nothing is asked where no paths meet.
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

// meeting is another datacenter that shows the same paths of its store, and what is wrong
// if that store is the same.
type meeting struct {
	other datacenter
	err   error
}

// meets returns the others whose stores are of the same sort and show the same paths.
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

// same reports whether the stores of a and b are of one cluster: by what that calls
// itself, and where a store is not open or does not say, by the addresses of its servers.
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

// addressesOf returns the addresses that servers have, each host:port, whatever they are
// called; those of this machine, of which here has the hosts, are one.
func addressesOf(ctx context.Context, servers []string, here map[string]bool) map[string]bool {
	set := map[string]bool{}
	for _, server := range servers {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			continue
		}
		hosts, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			hosts = []string{strings.ToLower(host)} // two of the same name are the same still
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
	all, _ := net.InterfaceAddrs() // without them names and other addresses still count
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			set[n.IP.String()] = true
		}
	}
	return set
}
