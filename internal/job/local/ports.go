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

// endpoints returns n addresses with free ports.
func endpoints(n int) ([]string, error) {
	var found []string
	start := rand.IntN(portCount)
	for i := 0; i < portCount && len(found) < n; i++ {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+(start+i)%portCount))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		l.Close()
		found = append(found, addr)
	}
	if len(found) < n {
		return nil, pfs.Errorf("local.endpoints", "", pfs.Unavailable, "this machine has not %d free ports from %d on", n, firstPort)
	}
	return found, nil
}
