package auth

import "context"

// SetPassword gives the account name a new password. Its tokens die.
func (a *Accounts) SetPassword(ctx context.Context, name, password string) error {
	const op = "auth.SetPassword"
	if _, err := a.Get(name); err != nil {
		return err
	}
	hash, err := a.hash.hash(ctx, op, password)
	if err != nil {
		return err
	}
	return a.update(ctx, op, func(t *table) error {
		r, ok := t.find(name)
		if !ok {
			return notFound(op, name)
		}
		r.Password, r.Generation = hash, newGeneration()
		return nil
	})
}

// SetRole gives the account name another role. Its tokens die.
func (a *Accounts) SetRole(ctx context.Context, name string, role Role) error {
	const op = "auth.SetRole"
	if _, err := ParseRole(string(role)); err != nil {
		return err
	}
	return a.update(ctx, op, func(t *table) error {
		r, ok := t.find(name)
		if !ok {
			return notFound(op, name)
		}
		r.Role, r.Generation = role, newGeneration()
		return nil
	})
}

// Remove removes the account name. Its tokens die, its files stay, and so does
// its identity on the stores: nobody else gets it.
func (a *Accounts) Remove(ctx context.Context, name string) error {
	const op = "auth.Remove"
	return a.update(ctx, op, func(t *table) error {
		if !t.remove(name) {
			return notFound(op, name)
		}
		return nil
	})
}
