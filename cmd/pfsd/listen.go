package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// openListeners opens the addresses of the service. Connections wait until it serves.
func (s *service) openListeners(context.Context) (err error) {
	if s.front, err = s.openListener("--listen", s.opts.listen); err == nil && s.opts.metricsListen != "" {
		s.metrics, err = s.openListener("--metrics-listen", s.opts.metricsListen)
	}
	if err == nil && s.opts.sftp != "" {
		s.ssh, err = s.openListener("--sftp", s.opts.sftp)
	}
	if err == nil && s.opts.webhdfs.listen != "" {
		s.webhdfs, err = s.openListener("--webhdfs", s.opts.webhdfs.listen)
	}
	return err
}

func (s *service) openListener(flag, address string) (net.Listener, error) {
	l, err := cliio.Listen(flag, address)
	if err == nil {
		s.closers = append(s.closers, func() error {
			if err := l.Close(); !errors.Is(err, net.ErrClosed) { // the server may have closed it in its shutdown
				return err
			}
			return nil
		})
	}
	return l, err
}

// stacked wraps l in the limit of connections, the cork that the server uses, and TLS unless config
// is nil, in this order.
func stacked(l net.Listener, connections, share int, config *tls.Config) net.Listener {
	l = wire.CorkListener{Listener: newLimitListener(l, connections, share)}
	if config == nil {
		return l
	}
	return tls.NewListener(l, config)
}

// endpoint returns the URL by which clients reach the address, with the machine's name if it
// listens on all addresses.
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
