package webdav

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/linkfs"
)

// move renames the source to the target.
func (q *request) move() error {
	rename := func(ctx context.Context, fsys pfs.FileSystem) error { return fsys.Rename(ctx, q.name, q.target) }
	if q.Header.Get("Overwrite") == "F" {
		rename = func(ctx context.Context, fsys pfs.FileSystem) error {
			return gateway.RenameNew(ctx, fsys, q.name, q.target)
		}
	}
	return q.replace(func() error { return q.audited("rename", q.name, rename, "to", q.target) }, false)
}

// replace calls make, which makes the target. A file at the target is replaced by make itself, atomically. Anything that
// make cannot replace gets another name first: it is removed after make has succeeded, and else gets its name back. partial
// tells that a make that fails can leave a part of a copy. Without it, what is at the target may be all that there is: a rename can be
// carried out although its answer is lost.
func (q *request) replace(make func() error, partial bool) error {
	do := func() error {
		err := make()
		if is(err, pfs.NotExist) {
			err = &statusError{http.StatusConflict, err} // the directory of the target is missing
		}
		return err
	}
	var old, source pfs.Info
	err := q.do("stat", func(ctx context.Context, fsys pfs.FileSystem) (err error) {
		if source, err = linkfs.Stat(ctx, fsys, q.name); err != nil {
			return err // nothing is replaced by what does not exist
		}
		old, err = fsys.Stat(ctx, q.target)
		if is(err, pfs.NotExist) {
			old, err = pfs.Info{}, nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if old.Name == "" || !old.IsDir() && !source.IsDir() {
		return do()
	}
	aside := q.target.Parent().Join(".replaced-" + pfs.NewID())
	lasting := *q // a client that leaves does not stop what follows
	lasting.Request = q.WithContext(context.WithoutCancel(q.Context()))
	remove := func(name pfs.Path) error {
		return lasting.audited("remove", name, func(ctx context.Context, fsys pfs.FileSystem) error { return pfs.RemoveTree(ctx, fsys, name) })
	}
	err = q.audited("rename", q.target, func(ctx context.Context, fsys pfs.FileSystem) error {
		return fsys.Rename(ctx, q.target, aside)
	}, "to", aside)
	if err == nil {
		if err = do(); err == nil {
			return remove(aside)
		}
		if partial {
			_ = remove(q.target)
		}
	}
	// The old directory stays aside if something else has its name. The audit log has it.
	_ = lasting.audited("rename", aside, func(ctx context.Context, fsys pfs.FileSystem) error {
		return gateway.RenameNew(ctx, fsys, aside, q.target)
	}, "to", q.target)
	return err
}

// copying is the target of a COPY.
type copying struct{ node }

// ReadFrom makes the copy. io.Copy calls it with the source.
func (c *copying) ReadFrom(io.Reader) (int64, error) {
	q := c.tree.q
	err := q.replace(q.copyAll, true)
	if err != nil {
		q.failed = err
	}
	return 0, err
}

func (c *copying) Stat() (os.FileInfo, error) { return fileInfo{c.info}, nil }

// copyAll copies the source, and its entries unless Depth is 0. It needs memory for one page of a listing a level.
func (q *request) copyAll() error {
	info, err := q.stat(q.name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return q.copyFile(q.name, q.target)
	}
	return q.copyDir(q.name, q.target, info.Mode)
}

func (q *request) copyDir(from, to pfs.Path, mode fs.FileMode) error {
	err := q.audited("mkdir", to, func(ctx context.Context, fsys pfs.FileSystem) error {
		return fsys.Mkdir(ctx, to, mode.Perm())
	})
	if err != nil || q.Header.Get("Depth") == "0" {
		return err
	}
	return q.entries(from, func(e pfs.Info) error {
		if e.IsDir() {
			return q.copyDir(from.Join(e.Name), to.Join(e.Name), e.Mode)
		}
		return q.copyFile(from.Join(e.Name), to.Join(e.Name))
	})
}

// entries calls do for each entry of dir. Links are described as what they lead to, and left out if that is a directory,
// which could contain dir, or nothing.
func (q *request) entries(dir pfs.Path, do func(pfs.Info) error) error {
	for token := ""; ; {
		page, err := q.page(dir, token)
		if err != nil {
			return err
		}
		for _, e := range page.Entries {
			if e.IsLink() {
				to, err := q.stat(dir.Join(e.Name))
				switch {
				case err != nil && !linkfs.Nowhere(err):
					return err
				case err != nil || !to.IsRegular():
					continue
				}
			}
			if err := do(e); err != nil {
				return err
			}
		}
		if token = page.Next; token == "" {
			return nil
		}
	}
}

// copyFile copies a file by its store, or else through the service.
func (q *request) copyFile(from, to pfs.Path) error {
	err := q.audited("copy", from, func(ctx context.Context, fsys pfs.FileSystem) error {
		_, err := pfs.CopyInside(ctx, fsys, from, to, pfs.CopyOptions{}, nil)
		return err
	}, "to", to)
	if is(err, pfs.CrossStore, pfs.Unsupported) {
		return q.copyThrough(from, to)
	}
	return err
}

// copyThrough copies a file piece by piece, and compares its digest with the one that is stored with the source.
func (q *request) copyThrough(from, to pfs.Path) (err error) {
	var src pfs.File
	err = q.do("open", func(ctx context.Context, fsys pfs.FileSystem) error {
		src, err = fsys.Open(ctx, from)
		return err
	})
	if err != nil {
		return err
	}
	defer src.Close()
	u, err := q.begin(to, src.Info().Size)
	if err != nil {
		return err
	}
	defer u.Close()
	info := src.Info()
	u.mode, u.mtime = info.Mode, info.ModTime
	if digest.Algorithm(info.Digest) == digest.XXH3 {
		u.want = info.Digest
	}
	_, err = u.ReadFrom(gateway.NewContent(q.Context(), q.session, src))
	return err
}
