package main

import (
	"crypto/tls"
	"net"
	"net/netip"
	"os"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// isLoopback reports whether only this machine reaches a HOST:PORT to listen at.
func isLoopback(flag, address string) (bool, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return false, cliargs.Usagef("%s %q: HOST:PORT is needed, for example 127.0.0.1:8730", flag, address)
	}
	if host == "localhost" {
		return true, nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback(), nil
}

// listen opens the address.
func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, pfs.Errorf("pfsd.listen", "", pfs.KindOf(err), "%w", err)
	}
	return l, nil
}

// stacked returns l with the limit of connections, the cork that the server uses,
// and TLS unless config is nil, in this order.
func stacked(l net.Listener, connections int, config *tls.Config) net.Listener {
	l = wire.CorkListener{Listener: newLimitListener(l, connections)}
	if config == nil {
		return l
	}
	return tls.NewListener(l, config)
}

// endpoint returns the URL by which clients reach the address; where all of a
// machine's addresses are served, that of its name.
func endpoint(scheme string, address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return scheme + "://" + address.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
