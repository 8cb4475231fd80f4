package hdfsfs

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// finalize gives the file at a path in HDFS the attributes that it will have in the directory dir.
func (f *FS) finalize(ctx context.Context, at string, dir pfs.Path, id string, opts pfs.CommitOptions) error {
	st, err := f.statusAt(ctx, at)
	if err != nil {
		return err
	}
	if st.Size != opts.Size {
		return pfs.Errorf("hdfsfs.Staged.Commit", "", pfs.Integrity, "the staged file has %d bytes instead of %d", st.Size, opts.Size)
	}
	if err := f.give(ctx, at, dir, st, opts.Perm()); err != nil {
		return err
	}
	return f.date(ctx, at, id, opts)
}

// date sets the time and the mark of the file at a path in HDFS.
func (f *FS) date(ctx context.Context, at, id string, opts pfs.CommitOptions) error {
	mtime := opts.ModTime
	if mtime.IsZero() {
		mtime = time.Now()
	}
	return together(
		func() error { return f.setTimes(ctx, at, mtime, time.Time{}) },
		func() error { return f.setMark(ctx, at, digest.NewMark(id, opts, kept(mtime))) },
	)
}

// together makes independent calls concurrently, and returns the first error in their order.
func together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = pfs.Guard("hdfsfs.together", "", call) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// give sets permission bits, group and owner.
func (f *FS) give(ctx context.Context, at string, dir pfs.Path, st status, perm fs.FileMode) error {
	if st.Mode.Perm() != perm {
		if err := f.chmod(ctx, at, uint32(perm)); err != nil {
			return err
		}
	}
	parent, err := f.status(ctx, dir)
	if is(err, pfs.NotExist, pfs.NotDir) {
		return fail("hdfsfs.Staged.Commit", dir, err)
	}
	if err != nil {
		return err
	}
	return f.giveTo(ctx, at, st, parent)
}

// giveTo gives a file, which st describes, its owner and its group. As HDFS has it, the
// group is that of the directory parent, if the user may give it.
func (f *FS) giveTo(ctx context.Context, at string, st, parent status) error {
	owner := st.Owner
	if f.owner != "" {
		owner = f.owner
	}
	if owner == st.Owner && parent.Group == st.Group {
		return nil
	}
	err := f.chown(ctx, at, owner, parent.Group)
	if is(err, pfs.Permission) && owner == st.Owner {
		return nil // a service that is no superuser
	}
	return err
}
