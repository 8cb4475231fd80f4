package cliio

import (
	"errors"
	"net"
	"net/netip"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
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

// CheckAddress refuses an address that is not HOST:PORT.
func CheckAddress(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return cliargs.Usagef("%s %q: HOST:PORT is needed, for example 127.0.0.1:8730", flag, address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return cliargs.Usagef("%s %q: %q is not a port: it is a number from 0 to 65535", flag, address, port)
	}
	return nil
}

// Listen opens the address of a flag.
func Listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	why := err
	var op *net.OpError
	if errors.As(err, &op) {
		why = op.Err // without the address, which the message already has
	}
	return nil, pfs.Errorf("cliio.Listen", "", pfs.KindOf(err), "%s %s: %w: choose another address", flag, address, why)
}
