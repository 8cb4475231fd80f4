package auth

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// Verify returns the account name if password is correct, and otherwise Unauthenticated, in the
// same time whether the account exists or not (an imported bcrypt hash takes its own time). If too
// many passwords are waiting to be checked it returns Limit. remote is the address that the
// password came from, if any. Accounts and networks take turns in having their passwords checked.
func (a *Accounts) Verify(ctx context.Context, name, password, remote string) (Account, error) {
	const op = "auth.Verify"
	if len(password) > MaxPassword {
		return Account{}, wrongPassword(op)
	}
	r, known := a.viewNow().find(name)
	if !known {
		r = &record{}
	}
	ok, err := a.hash.check(ctx, op, r.Password, password, name, remote)
	if err != nil {
		return Account{}, err
	}
	if !ok || !known {
		return Account{}, wrongPassword(op)
	}
	return r.account(), nil
}

func wrongPassword(op string) error {
	return pfs.Errorf(op, "", pfs.Unauthenticated, "wrong user name or password")
}
