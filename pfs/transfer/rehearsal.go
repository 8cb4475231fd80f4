package transfer

import (
	"context"
	"errors"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// Rehearsal records the directories that a dry run would have created. The zero value is ready to
// use.
type Rehearsal struct {
	mu    sync.Mutex
	made  map[pfs.LeafDigest]bool // directories, by the hash of their path, in directories that exist
	ready map[pfs.Path]bool       // directories in which files may be made
}

// maxReady bounds Rehearsal.ready.
const maxReady = 1024

// FS returns fsys without its changes: an operation that would change something is only checked, as
// far as possible. Create returns a nil Staged. Directories count as created in later calls on any
// FS of r.
func (r *Rehearsal) FS(fsys pfs.FileSystem) pfs.FileSystem {
	return &rehearsed{below: fsys, Layer: pfs.NewLayer(func(ctx context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if !a.Changes() {
			return call(fsys, name)
		}
		return r.try(ctx, fsys, a, name)
	})}
}

// rehearsed is a file system of a Rehearsal.
type rehearsed struct {
	*pfs.Layer
	below pfs.FileSystem
}

// rehearse returns fsys if it is an FS of a Rehearsal, and else that of a new one.
func rehearse(fsys pfs.FileSystem) pfs.FileSystem {
	if _, ok := fsys.(*rehearsed); ok {
		return fsys
	}
	return new(Rehearsal).FS(fsys)
}

// WriteBatch tries the entries one by one.
func (f *rehearsed) WriteBatch(ctx context.Context, entries []pfs.BatchEntry) []error {
	errs := make([]error, len(entries))
	for i, e := range entries {
		if e.Mode.IsDir() {
			errs[i] = f.Mkdir(ctx, e.Path, e.Mode.Perm())
		} else {
			_, errs[i] = f.Create(ctx, e.Path, pfs.CreateOptions{Size: int64(len(e.Data))})
		}
	}
	return errs
}

// try returns the error with which an operation that needs the access a to name would be refused.
func (r *Rehearsal) try(ctx context.Context, fsys pfs.FileSystem, a pfs.Access, name pfs.Path) error {
	dir := name.Parent()
	if a == pfs.Write && r.isReady(dir) {
		return nil
	}
	if err := pfs.CheckAccess(ctx, fsys, a, name); err != nil {
		return err
	}
	switch a {
	case pfs.Write:
		if _, err := r.lookAbove(ctx, fsys, name); err != nil {
			return err
		}
		r.setReady(dir)
	case pfs.Make:
		return r.mkdir(ctx, fsys, name)
	}
	return nil
}

// mkdir notes the directory name as made, if it could be made.
func (r *Rehearsal) mkdir(ctx context.Context, fsys pfs.FileSystem, name pfs.Path) error {
	info, err := fsys.Stat(ctx, name)
	switch {
	case err == nil && (info.IsDir() || info.IsLink()):
		return nil
	case err == nil:
		return pfs.E("transfer.Rehearsal", name, pfs.Exist, nil)
	case !errors.Is(err, pfs.NotExist):
		return err
	}
	made, err := r.lookAbove(ctx, fsys, name)
	if err != nil || made {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made == nil {
		r.made = map[pfs.LeafDigest]bool{}
	}
	r.made[pathHash(name)] = true
	return nil
}

// lookAbove returns an error if nothing can be created in the parent of name, and reports whether
// the dry run would have created that parent.
func (r *Rehearsal) lookAbove(ctx context.Context, fsys pfs.FileSystem, name pfs.Path) (made bool, err error) {
	const op = "transfer.Rehearsal"
	dir := name.Parent()
	if r.isMade(dir) {
		return true, nil
	}
	info, err := fsys.Stat(ctx, dir)
	if err == nil && info.IsLink() {
		if dir, err = ResolveLink(ctx, fsys, dir); err == nil {
			info, err = fsys.Stat(ctx, dir)
		}
	}
	switch {
	case errors.Is(err, pfs.NotExist):
		return false, pfs.E(op, name, pfs.NotExist, nil)
	case err == nil && !info.IsDir():
		return false, pfs.E(op, name, pfs.NotDir, nil)
	}
	return false, err
}

// isMade reports whether the dry run would have created dir. If it would have created a parent of
// dir, then also dir.
func (r *Rehearsal) isMade(dir pfs.Path) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ; len(r.made) > 0 && dir != pfs.Root; dir = dir.Parent() {
		if r.made[pathHash(dir)] {
			return true
		}
	}
	return false
}

func pathHash(p pfs.Path) pfs.LeafDigest { return digest.Leaf([]byte(p)) }

func (r *Rehearsal) isReady(dir pfs.Path) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ready[dir]
}

func (r *Rehearsal) setReady(dir pfs.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ready == nil || len(r.ready) >= maxReady {
		r.ready = map[pfs.Path]bool{}
	}
	r.ready[dir] = true
}
