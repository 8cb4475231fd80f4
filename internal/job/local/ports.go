//go:build linux

package local

import (
	"math/rand/v2"
	"net"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
)

// Ports below those that systems give to outgoing connections, so that none of these takes one before
// its rank listens.
const firstPort, portCount = 20000, 12000

// endpoints returns an address for each rank, which is followed by free ports: sizes has the number of ports of each rank.
func endpoints(sizes []int) ([]string, error) {
	var found []string
	start, run := rand.IntN(portCount), 0 // run is the number of free ports in a row
	for i := 0; i < portCount && len(found) < len(sizes); i++ {
		at := (start + i) % portCount
		if at == 0 {
			run = 0
		}
		if !isFree(firstPort + at) {
			run = 0
			continue
		}
		if run++; run == sizes[len(found)] {
			found = append(found, address(firstPort+at-run+1))
			run = 0
		}
	}
	if len(found) < len(sizes) {
		return nil, pfs.Errorf("local.endpoints", "", pfs.Unavailable, "this machine has not enough free ports from %d on for %d processes", firstPort, len(sizes))
	}
	return found, nil
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func isFree(port int) bool {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
