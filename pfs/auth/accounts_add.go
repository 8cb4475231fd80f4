package auth

import (
	"cmp"
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/pfs"
)

// CheckAdd returns the error that Add would return, except for errors about the password and about
// identities that other accounts have.
func (a *Accounts) CheckAdd(ctx context.Context, n NewAccount) error {
	const op = "auth.CheckAdd"
	if err := pfs.CheckContext(ctx, op, ""); err != nil {
		return err
	}
	if reason := n.fault(); reason != "" {
		return pfs.Errorf(op, "", pfs.Invalid, "%s", reason)
	}
	return a.viewNow().checkNew(op, n.Name)
}

// Add makes an account. The error is Exist if the name is taken; Invalid for an invalid name, role,
// HDFS user, uid, gid or password; Conflict for an HDFS user or uid that another account has or
// had, or a name too similar to another.
func (a *Accounts) Add(ctx context.Context, n NewAccount) (Account, error) {
	const op = "auth.Add"
	n.Role = cmp.Or(n.Role, User)
	if reason := n.fault(); reason != "" {
		return Account{}, pfs.Errorf(op, "", pfs.Invalid, "%s", reason)
	}
	hash, err := a.hash.hash(ctx, op, n.Password)
	if err != nil {
		return Account{}, err
	}
	var made Account
	err = a.update(ctx, op, func(t *table) error {
		made, err = t.add(n, hash, a.opts.Now())
		return err
	})
	return made, err
}

// fault explains the first invalid field of n, without regard to other accounts.
func (n NewAccount) fault() string {
	if reason := CheckName(n.Name); reason != "" {
		return fmt.Sprintf("user name %q: %s", n.Name, reason)
	}
	if _, err := ParseRole(string(cmp.Or(n.Role, User))); err != nil {
		return pfs.Detail(err)
	}
	if n.HDFSUser != "" {
		if reason := checkHDFSUser(n.HDFSUser); reason != "" {
			return reason
		}
	}
	return cmp.Or(checkID("uid", cmp.Or(n.UID, FirstUID)), checkID("gid", cmp.Or(n.GID, FirstUID)))
}
