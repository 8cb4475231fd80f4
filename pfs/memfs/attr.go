package memfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// attrOwners are the attributes that only the user of the store may set.
const attrOwners = pfs.AttrUID | pfs.AttrGID | pfs.AttrOwner | pfs.AttrGroup

// SetAttr sets attributes of name.
func (s *FS) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "memfs.SetAttr"
	if err := mask.Check(op, name, attrs); err != nil {
		return err
	}
	return s.on(ctx, &s.mu, op, name, (*FS).find, 0, 0, func(n *node) error {
		err := rules.SetAttr(op, name, n.mode, mask)
		if err == nil && mask&pfs.AttrSize != 0 {
			err = s.may(op, name, n, change)
		}
		if err != nil {
			return err
		}
		return s.setAttr(op, name, n, mask, attrs)
	})
}

// setAttr sets attributes of n, all or none, with the lock held. The caller has checked the type of
// n, and whether the size may change.
func (s *FS) setAttr(op string, name pfs.Path, n *node, mask pfs.AttrMask, attrs pfs.Attrs) error {
	if err := s.need(op, name, needs(mask)); err != nil {
		return err
	}
	if s.as && mask&attrOwners != 0 {
		return pfs.Errorf(op, name, pfs.Permission, "only the user of the store sets owners")
	}
	if mask&^(pfs.AttrSize|pfs.AttrLink) != 0 {
		if err := s.owns(op, name, n); err != nil {
			return err
		}
	}
	if mask&pfs.AttrSize != 0 {
		if err := s.setContent(op, name, n, n.data.resized(attrs.Size)); err != nil {
			return err
		}
	}
	if mask&pfs.AttrMode != 0 {
		special := attrs.Mode & rules.Special
		if n.mode.IsDir() && special == 0 {
			special = n.mode & rules.Special
		}
		n.mode = n.mode.Type() | special | attrs.Mode.Perm()
	}
	if mask&pfs.AttrModTime != 0 {
		n.mtime = attrs.ModTime.Round(0)
	}
	if mask&pfs.AttrAccessTime != 0 {
		n.atime = attrs.AccessTime.Round(0)
	}
	if mask&pfs.AttrUID != 0 {
		n.uid = attrs.UID
	}
	if mask&pfs.AttrGID != 0 {
		n.gid = attrs.GID
	}
	if mask&pfs.AttrOwner != 0 {
		n.owner = attrs.Owner
	}
	if mask&pfs.AttrGroup != 0 {
		n.group = attrs.Group
	}
	if mask&pfs.AttrReplication != 0 {
		n.replication = attrs.Replication
	}
	n.ctime = now()
	return nil
}

// needs returns the capabilities that setting the attributes of mask needs.
func needs(mask pfs.AttrMask) (c pfs.Capabilities) {
	for _, a := range []struct {
		attr pfs.AttrMask
		can  pfs.Capabilities
	}{
		{pfs.AttrMode, pfs.CanSetMode},
		{pfs.AttrModTime, pfs.CanSetTimes},
		{pfs.AttrAccessTime, pfs.CanSetAccessTime},
		{attrOwners, pfs.CanSetOwner},
		{pfs.AttrReplication, pfs.CanSetReplication},
		{pfs.AttrSize, pfs.CanWriteRandom},
	} {
		if mask&a.attr != 0 {
			c |= a.can
		}
	}
	return c
}
