//go:build ceph

package cephfs

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// checkMonitors returns Unavailable for a monitor whose name has no address: the name may be wrong,
// or the name server may lack it for a moment. libcephfs would print that on the program's standard
// error, regardless of its configuration.
func checkMonitors(o Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
	defer cancel()
	for _, monitor := range o.Monitors {
		host := hostOf(monitor)
		if host == "" || net.ParseIP(host) != nil {
			continue
		}
		_, err := net.DefaultResolver.LookupHost(ctx, host)
		if unknown := (*net.DNSError)(nil); errors.As(err, &unknown) && unknown.IsNotFound {
			return pfs.Errorf(openOp, "", pfs.Unavailable, "the monitor %q has no address: no such host", monitor)
		}
		if err != nil {
			return pfs.Errorf(openOp, "", pfs.Unavailable, "the monitor %q: %w", monitor, err)
		}
	}
	return nil
}

// hostOf returns the host of a monitor's address, or "" if the address is in Ceph's own form, [v2:...,v1:...].
func hostOf(monitor string) string {
	if strings.HasPrefix(monitor, "[v") {
		return ""
	}
	host, _, err := net.SplitHostPort(monitor)
	if err != nil {
		return strings.Trim(monitor, "[]")
	}
	return host
}
