package cliio

import (
	"net/netip"
	"strings"
)

// IsLoopback reports whether only this machine reaches host, or is reached by it:
// "localhost" or a loopback address. Other names are not looked up, since what they
// lead to may change.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
