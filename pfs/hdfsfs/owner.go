package hdfsfs

import (
	"context"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// acting names the user of the calls of an FS, and the owner of new files.
type acting struct {
	user  string // calls are made as this user
	owner string // files are given to this user before they have their names; "" if it is the same one
}

// stageUser is the name of w's directory in stageDir. No user name has an "@".
func (w acting) stageUser() string {
	if w.owner == "" {
		return w.user
	}
	return w.owner + "@" + w.user
}

// WithOwner returns the same tree, in which new files belong to owner.Name. Calls are made as the
// service, which must be a superuser to change owners.
func (f *FS) WithOwner(owner pfs.Owner) (pfs.FileSystem, error) {
	if !validUser(owner.Name) {
		return nil, wrongUser("hdfsfs.WithOwner", owner.Name)
	}
	c := f.cluster
	if owner.Name == c.service.user {
		return c.service, nil
	}
	return c.others.get(acting{user: c.service.user, owner: owner.Name}, func(w acting) *FS {
		return c.newFS(w, c.service.client)
	}), nil
}

// Impersonate returns the same tree with calls made as owner.Name. The cluster must trust user
// names; with Kerberos it answers Unsupported.
func (f *FS) Impersonate(owner pfs.Owner) (pfs.FileSystem, error) {
	const op = "hdfsfs.Impersonate"
	c := f.cluster
	switch {
	case !validUser(owner.Name):
		return nil, wrongUser(op, owner.Name)
	case owner.Name == c.service.user:
		return nil, pfs.Errorf(op, "", pfs.Permission,
			"the account has the HDFS user %s of the service, which may do everything: give it another HDFS user", owner.Name)
	case c.opts.Kerberos != nil:
		return nil, pfs.Errorf(op, "", pfs.Unsupported,
			"this HDFS asks for Kerberos, and the service has no ticket of %s: its permissions cannot be kept here", owner.Name)
	}
	return c.others.get(acting{user: owner.Name}, func(w acting) *FS {
		return c.newFS(w, c.newClient(w.user))
	}), nil
}

func wrongUser(op, name string) error {
	return pfs.Errorf(op, "", pfs.Invalid, "%q cannot be the name of an HDFS user", name)
}

// validUser reports whether user can be the name of an HDFS user, and so of a directory.
func validUser(user string) bool {
	return pfs.CheckName(user) == "" && !strings.ContainsAny(user, "@:\n ")
}

// setOwner changes the owner and group of a path in HDFS; "" keeps the old one.
func (f *FS) setOwner(ctx context.Context, at, owner, group string) error {
	request := &hdfsproto.SetOwnerRequest{Path: &at}
	if owner != "" {
		request.Owner = &owner
	}
	if group != "" {
		request.Group = &group
	}
	return f.tell(ctx, "setOwner", request, rpc.Idempotent)
}

// chown gives a path in HDFS an owner and a group, with the service's rights.
func (f *FS) chown(ctx context.Context, at, owner, group string) error {
	err := f.service.setOwner(ctx, at, owner, group)
	if is(err, pfs.Permission) && f.owner != "" {
		return pfs.Errorf("hdfsfs.chown", "", pfs.Permission,
			"%s, as whom the service works, may not give files to %s: make it a superuser of HDFS (dfs.permissions.superusergroup)", f.user, owner)
	}
	return err
}
