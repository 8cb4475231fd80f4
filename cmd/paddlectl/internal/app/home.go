package app

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Home returns the user's own directory in the current datacenter.
func (a *App) Home(ctx context.Context) (pfs.Path, error) {
	conn, err := a.Remotes.Current(ctx)
	if err != nil {
		return "", err
	}
	user := conn.Entry.Username
	if user == "" {
		return "", pfs.Errorf("paddlectl.home", "", pfs.Unauthenticated, "datacenter %q has no username", conn.Entry.Name)
	}
	if reason := pfs.CheckName(user); reason != "" {
		return "", pfs.Errorf("paddlectl.home", "", pfs.Invalid, "username %q: %s", user, reason)
	}
	return homeOf(conn.Entry.Name, user), nil
}

// IsOwnHome reports whether p is the home of the user who is logged in there.
func (a *App) IsOwnHome(ctx context.Context, p pfs.Path) bool {
	conn, err := a.Remotes.At(ctx, p)
	return err == nil && pfs.CheckName(conn.Entry.Username) == "" && p == homeOf(datacenter(p), conn.Entry.Username)
}
