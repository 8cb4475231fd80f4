package cliio

import (
	"net/netip"
	"strings"
)

// IsLoopback reports whether host is reachable only on this machine: "localhost" or a loopback
// address. It does not resolve other names, since their addresses may change.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
