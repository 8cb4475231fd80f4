package main

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// home returns the user's own directory in the current datacenter.
func (d *deps) home(ctx context.Context) (pfs.Path, error) {
	conn, err := d.remotes.current(ctx)
	if err != nil {
		return "", err
	}
	user := conn.entry.Username
	if user == "" {
		return "", pfs.Errorf("paddlectl.home", "", pfs.Unauthenticated, "datacenter %q has no username", conn.entry.Name)
	}
	if reason := pfs.CheckName(user); reason != "" {
		return "", pfs.Errorf("paddlectl.home", "", pfs.Invalid, "username %q: %s", user, reason)
	}
	return pfs.Root.Join("pfs").Join(conn.entry.Name).Join("home").Join(user), nil
}
