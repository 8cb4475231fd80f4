package hdfsfs

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
	"github.com/paddlecloud/pfs/pfs/retry"
	"google.golang.org/protobuf/encoding/protowire"
)

// SetAttr sets the attributes in mask. The size of a file can only shrink. To set the
// replication needs WebHDFS.
func (f *FS) SetAttr(ctx context.Context, name pfs.Path, mask pfs.AttrMask, attrs pfs.Attrs) error {
	const op = "hdfsfs.SetAttr"
	st, err := f.look(ctx, op, name)
	if err != nil {
		return err
	}
	if err := f.checkAttrs(op, name, st, mask, attrs); err != nil {
		return err
	}
	return f.placeError(ctx, op, name, f.apply(ctx, f.at(name), st, mask, attrs))
}

// checkAttrs refuses attributes that the file or directory st cannot have, before anything changes.
func (f *FS) checkAttrs(op string, name pfs.Path, st status, mask pfs.AttrMask, attrs pfs.Attrs) error {
	if err := mask.Check(op, name, attrs); err != nil {
		return err
	}
	switch {
	case mask&(pfs.AttrUID|pfs.AttrGID) != 0:
		return pfs.Errorf(op, name, pfs.Unsupported, "HDFS knows users and groups only by name")
	case st.IsLink():
		return pfs.E(op, name, pfs.Symlink, nil)
	case st.IsDir() && mask&(pfs.AttrSize|pfs.AttrReplication) != 0:
		return pfs.E(op, name, pfs.IsDir, nil)
	case st.IsDir() && mask&pfs.AttrAccessTime != 0:
		return pfs.Errorf(op, name, pfs.Unsupported, "HDFS keeps no access times of directories")
	case mask&pfs.AttrSize != 0 && attrs.Size > st.Size:
		return pfs.Errorf(op, name, pfs.Unsupported, "HDFS can extend a file only by appending to it")
	case mask&pfs.AttrReplication != 0 && !f.hasWeb():
		return fail(op, name, errWebOff)
	}
	return nil
}

// apply sets the attributes of the path at in HDFS, whose status is st. It sets the size first and the times last,
// because a change of the size changes the times.
func (f *FS) apply(ctx context.Context, at string, st status, mask pfs.AttrMask, attrs pfs.Attrs) error {
	if mask&pfs.AttrSize != 0 && attrs.Size < st.Size {
		if err := f.truncate(ctx, at, attrs.Size); err != nil {
			return err
		}
	}
	if mask&(pfs.AttrOwner|pfs.AttrGroup) != 0 {
		var owner, group string // empty: unchanged
		if mask&pfs.AttrOwner != 0 {
			owner = attrs.Owner
		}
		if mask&pfs.AttrGroup != 0 {
			group = attrs.Group
		}
		if err := f.call(ctx, idempotent, func(c *hdfs.Client) error { return c.Chown(at, owner, group) }); err != nil {
			return err
		}
	}
	if mask&pfs.AttrMode != 0 {
		bits := uint32(attrs.Mode.Perm())
		if (attrs.Mode|st.Mode)&fs.ModeSticky != 0 && st.IsDir() {
			bits |= stickyBit
		}
		if err := f.call(ctx, idempotent, func(c *hdfs.Client) error { return c.Chmod(at, rawMode(bits)) }); err != nil {
			return err
		}
	}
	if mask&pfs.AttrReplication != 0 {
		q := url.Values{"replication": {strconv.Itoa(attrs.Replication)}}
		if err := f.web(ctx, webCall{method: http.MethodPut, op: "SETREPLICATION", path: at, query: q, repeat: idempotent}, nil); err != nil {
			return err
		}
	}
	var mtime, atime time.Time
	if mask&pfs.AttrModTime != 0 {
		mtime = attrs.ModTime
	}
	if mask&pfs.AttrAccessTime != 0 {
		atime = attrs.AccessTime
	}
	if mtime.IsZero() && atime.IsZero() {
		return nil
	}
	var m digest.Mark
	marked := false
	if st.IsRegular() && !mtime.IsZero() && mask&pfs.AttrSize == 0 {
		var err error
		if m, marked, err = f.readMark(ctx, at, st); err != nil {
			return err
		}
	}
	set, err := f.setTimes(ctx, at, mtime, atime)
	if noAccessTimes(err) {
		return pfs.Errorf("hdfsfs.SetAttr", "", pfs.Unsupported, "this HDFS keeps no access times (dfs.namenode.accesstime.precision)")
	}
	if err == nil && marked {
		m.ModTime = set
		err = f.setMark(ctx, at, m)
	}
	return err
}

// noAccessTimes reports whether HDFS refused to set an access time because it keeps none.
func noAccessTimes(err error) bool {
	var remote remoteError
	return errors.As(err, &remote) && strings.HasPrefix(remote.Message(), "Access time for hdfs is not configured")
}

// keepsAccessTimes reports whether access times can be set. HDFS has no call for this. Hadoop before 2.8 refuses to set
// one if reads do not update them (dfs.namenode.accesstime.precision). It checks this before it looks up the file, so
// the call here names an inode that never exists and changes nothing.
func (f *FS) keepsAccessTimes(ctx context.Context) (bool, error) {
	_, err := f.setTimes(ctx, inode(1), time.Time{}, time.Unix(1, 0))
	if is(err, pfs.Unavailable, pfs.Canceled) {
		return false, err
	}
	return !noAccessTimes(err), nil
}

// truncate shortens a file and waits until HDFS has recovered its last block, which has the new length.
func (f *FS) truncate(ctx context.Context, at string, size int64) error {
	until := time.Now().Add(f.opts.Timeout)
	for {
		done := false
		err := f.call(ctx, idempotent, func(c *hdfs.Client) (err error) {
			done, err = c.Truncate(at, size)
			return err
		})
		var remote remoteError
		recovering := errors.As(err, &remote) && is(err, pfs.Conflict, pfs.Unavailable) // block recovery of the first attempt
		switch {
		case done || err != nil && !recovering:
			return err
		case time.Now().After(until) || retry.From(ctx).Spent():
			return pfs.Errorf("hdfsfs.truncate", "", pfs.Unavailable, "HDFS is still shortening the last block, or another writer has the file")
		}
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// Xattr returns the value of the extended attribute attr.
func (f *FS) Xattr(ctx context.Context, name pfs.Path, attr string) (value []byte, err error) {
	const op = "hdfsfs.Xattr"
	err = f.attributed(ctx, op, name, attr, func(c *hdfs.Client, has map[string]string) error {
		if _, ok := has[attr]; !ok {
			return pfs.E(op, name, pfs.NoAttr, nil)
		}
		values, err := c.GetXAttrs(f.at(name), attr)
		value = []byte(values[attr])
		return err
	})
	return value, err
}

// anyXattr stands for all user attributes. It is not a legal attribute name.
const anyXattr = "*"

// ListXattr returns the names of the extended attributes of name that users may use.
func (f *FS) ListXattr(ctx context.Context, name pfs.Path) (names []string, err error) {
	err = f.attributed(ctx, "hdfsfs.ListXattr", name, anyXattr, func(_ *hdfs.Client, has map[string]string) error {
		names = rules.UserXattrs(slices.Collect(maps.Keys(has)))
		return nil
	})
	return names, err
}

// SetXattr sets the extended attribute attr.
func (f *FS) SetXattr(ctx context.Context, name pfs.Path, attr string, value []byte, flags pfs.XattrFlags) error {
	const op = "hdfsfs.SetXattr"
	if err := f.checkXattr(ctx, op, name, attr); err != nil {
		return err
	}
	const create, replace = 1, 2 // XAttrSetFlagProto
	flag, r := uint64(create|replace), idempotent
	switch {
	case flags&pfs.XattrCreate != 0:
		flag, r = create, atMostOnce
	case flags&pfs.XattrReplace != 0:
		flag = replace
	}
	more := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), flag) // of SetXAttrRequestProto
	err := f.callSession(ctx, r, func(s *session) error {
		return s.edited("setXAttr", more, func() error { return s.client.SetXAttr(f.at(name), attr, string(value)) })
	})
	var remote remoteError
	switch {
	case is(err, pfs.Invalid): // the name is valid, so the value is too long
		return pfs.Errorf(op, name, pfs.NoSpace, "the attribute is longer than this HDFS allows (dfs.namenode.fs-limits.max-xattr-size)")
	case !errors.As(err, &remote):
	case strings.HasSuffix(remoteText(remote), "The REPLACE flag must be specified."):
		return pfs.E(op, name, pfs.Exist, nil)
	case strings.HasSuffix(remoteText(remote), "The CREATE flag must be specified."):
		return pfs.E(op, name, pfs.NoAttr, nil)
	}
	return f.placeError(ctx, op, name, err)
}

// RemoveXattr removes the extended attribute attr.
func (f *FS) RemoveXattr(ctx context.Context, name pfs.Path, attr string) error {
	const op = "hdfsfs.RemoveXattr"
	return f.attributed(ctx, op, name, attr, func(c *hdfs.Client, has map[string]string) error {
		if _, ok := has[attr]; !ok {
			return pfs.E(op, name, pfs.NoAttr, nil)
		}
		return c.RemoveXAttr(f.at(name), attr)
	})
}

// attributed calls do with the extended attributes of name. attr is the attribute that do uses, or anyXattr.
func (f *FS) attributed(ctx context.Context, op string, name pfs.Path, attr string, do func(c *hdfs.Client, has map[string]string) error) error {
	if err := f.checkXattr(ctx, op, name, attr); err != nil {
		return err
	}
	err := f.call(ctx, idempotent, func(c *hdfs.Client) error {
		has, err := c.ListXAttrs(f.at(name))
		if err != nil {
			return err
		}
		return do(c, has)
	})
	return f.placeError(ctx, op, name, err)
}

// checkXattr is check, with a check of the attribute name attr unless it is anyXattr.
func (f *FS) checkXattr(ctx context.Context, op string, name pfs.Path, attr string) error {
	if err := f.check(ctx, op, name); err != nil || attr == anyXattr {
		return err
	}
	return pfs.CheckXattr(op, name, attr)
}
