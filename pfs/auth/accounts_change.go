package auth

import (
	"cmp"
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// SetPassword changes the password of the account name and revokes its tokens.
func (a *Accounts) SetPassword(ctx context.Context, name, password string) error {
	const op = "auth.SetPassword"
	if _, err := a.Get(name); err != nil {
		return err
	}
	hash, err := a.hash.hash(ctx, op, password)
	if err != nil {
		return err
	}
	return a.updateOne(ctx, op, name, func(_ *table, r *record) error {
		r.Password, r.Generation = hash, newGeneration()
		return nil
	})
}

// updateOne is update for the account name, which must exist.
func (a *Accounts) updateOne(ctx context.Context, op, name string, change func(*table, *record) error) error {
	return a.update(ctx, op, func(t *table) error {
		r, ok := t.find(name)
		if !ok {
			return notFound(op, name)
		}
		return change(t, r)
	})
}

// SetRole changes the role of the account name and revokes its tokens.
func (a *Accounts) SetRole(ctx context.Context, name string, role Role) error {
	const op = "auth.SetRole"
	if _, err := ParseRole(string(role)); err != nil {
		return err
	}
	return a.updateOne(ctx, op, name, func(_ *table, r *record) error {
		r.Role, r.Generation = role, newGeneration()
		return nil
	})
}

// StoreIdentity is the identity of an account on the stores. Zero values mean no change.
type StoreIdentity struct {
	HDFSUser string
	UID, GID int
}

// SetStoreIdentity changes the identity of the account name on the stores. Existing files keep
// their owner. The error is Invalid for an invalid identity, and Conflict for an HDFS user or uid
// that another account has or had. Sessions continue; new files belong to the new identity.
func (a *Accounts) SetStoreIdentity(ctx context.Context, name string, id StoreIdentity) (changed Account, err error) {
	const op = "auth.SetStoreIdentity"
	if reason := (NewAccount{Name: name, Role: User, HDFSUser: id.HDFSUser, UID: id.UID, GID: id.GID}).fault(); reason != "" {
		return Account{}, pfs.Errorf(op, "", pfs.Invalid, "%s", reason)
	}
	err = a.updateOne(ctx, op, name, func(t *table, r *record) error {
		r.HDFSUser, r.UID, r.GID = cmp.Or(id.HDFSUser, r.HDFSUser), cmp.Or(id.UID, r.UID), cmp.Or(id.GID, r.GID)
		var conflict string
		t.holders(func(_ string, _ int, reason string) { conflict = cmp.Or(conflict, reason) })
		if conflict != "" {
			return pfs.Errorf(op, "", pfs.Conflict, "%s; choose another", conflict)
		}
		changed = r.account()
		return nil
	})
	return changed, err
}

// Remove removes the account name and revokes its tokens. Its files stay, and its identity on the
// stores stays reserved.
func (a *Accounts) Remove(ctx context.Context, name string) error {
	const op = "auth.Remove"
	return a.updateOne(ctx, op, name, func(t *table, r *record) error {
		t.remove(r)
		return nil
	})
}
