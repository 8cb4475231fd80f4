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
	return homeOf(conn.entry.Name, user), nil
}

// isOwnHome reports whether p is the home of the user who is logged in there.
func (d *deps) isOwnHome(ctx context.Context, p pfs.Path) bool {
	conn, err := d.remotes.at(ctx, p)
	return err == nil && pfs.CheckName(conn.entry.Username) == "" && p == homeOf(datacenter(p), conn.entry.Username)
}
