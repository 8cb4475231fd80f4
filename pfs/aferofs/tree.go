package aferofs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/spf13/afero"
)

// FromPFS returns fsys as an afero.Fs. Every operation ends when ctx is done, because the methods
// of afero.Fs take no context.
//
// Writing follows package pfs. A new file, or one opened with O_TRUNC, is an upload: nothing of it
// is visible before Close, which publishes it whole. If a write or Close fails, nothing is
// published and the old file stays. So check the error of Close. O_EXCL publishes only if the name
// does not exist at that moment either. An existing file that is opened for writing without O_TRUNC
// is changed in place, if fsys can do that.
//
// Names are made absolute and cleaned as in afero.MemMapFs: "." is the root, and ".." drops the
// name before it. Links are followed if fsys follows them; Stat then returns the target,
// LstatIfPossible the link. Chown is not supported.
//
// Errors are *fs.PathError. For a missing or existing name, and for permission, the cause is the
// sentinel of package fs, because afero uses os.IsNotExist and its siblings, which require it.
// Other causes are the errors of fsys.
func FromPFS(ctx context.Context, fsys pfs.FileSystem) afero.Fs { return &tree{ctx, fsys} }

// tree is a pfs.FileSystem seen by afero.
type tree struct {
	ctx  context.Context
	fsys pfs.FileSystem
}

var (
	_ afero.Fs        = (*tree)(nil)
	_ afero.Symlinker = (*tree)(nil)
)

// Name returns the name of this kind of file system.
func (*tree) Name() string { return "pfs" }

// on does one operation on the path that name is.
func (t *tree) on(op, name string, do func(p pfs.Path) error) error {
	p, err := pfs.ParsePath(path.Clean("/" + filepath.ToSlash(name)))
	if err == nil {
		err = do(p)
	}
	return pathError(op, name, err)
}

// pathError converts err to the errors that users of afero expect.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	switch pfs.KindOf(err) {
	case pfs.NotExist:
		err = fs.ErrNotExist
	case pfs.Exist:
		err = fs.ErrExist
	case pfs.Permission:
		err = fs.ErrPermission
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Mkdir creates a directory. It returns fs.ErrExist for an existing one, unless that appears at the
// same moment.
func (t *tree) Mkdir(name string, perm os.FileMode) error {
	return t.on("mkdir", name, func(p pfs.Path) error {
		if there, err := pfs.Exists(t.ctx, t.fsys, p); err != nil {
			return err
		} else if there {
			return fs.ErrExist
		}
		return t.fsys.Mkdir(t.ctx, p, perm)
	})
}

// MkdirAll makes a directory and the parents that are missing.
func (t *tree) MkdirAll(name string, perm os.FileMode) error {
	return t.on("mkdir", name, func(p pfs.Path) error {
		return pfs.MkdirAll(t.ctx, t.fsys, p, perm)
	})
}

// Remove removes a file, a link or an empty directory.
func (t *tree) Remove(name string) error {
	return t.on("remove", name, func(p pfs.Path) error { return t.fsys.Remove(t.ctx, p) })
}

// RemoveAll removes a name and everything below it, if it exists.
func (t *tree) RemoveAll(name string) error {
	return t.on("removeall", name, func(p pfs.Path) error {
		err := pfs.RemoveTree(t.ctx, t.fsys, p)
		if errors.Is(err, pfs.NotExist) {
			return nil
		}
		return err
	})
}

// Rename gives oldname the name newname, as pfs.FileSystem does.
func (t *tree) Rename(oldname, newname string) error {
	return t.on("rename", oldname, func(from pfs.Path) error {
		return t.on("rename", newname, func(to pfs.Path) error {
			return t.fsys.Rename(t.ctx, from, to)
		})
	})
}

// Chmod sets the permission bits.
func (t *tree) Chmod(name string, mode os.FileMode) error {
	return t.on("chmod", name, func(p pfs.Path) error { return pfs.SetAttr(t.ctx, t.fsys, p, pfs.AttrMode, pfs.Attrs{Mode: mode}) })
}

// Chtimes sets the modification time. Times of access are not kept.
func (t *tree) Chtimes(name string, _, mtime time.Time) error {
	return t.on("chtimes", name, func(p pfs.Path) error {
		return pfs.SetAttr(t.ctx, t.fsys, p, pfs.AttrModTime, pfs.Attrs{ModTime: mtime})
	})
}

// Chown answers pfs.Unsupported.
func (t *tree) Chown(name string, _, _ int) error {
	return t.on("chown", name, func(p pfs.Path) error {
		return pfs.Errorf("aferofs.Chown", p, pfs.Unsupported, "owners are set by the service")
	})
}

// SymlinkIfPossible makes newname a link to oldname.
func (t *tree) SymlinkIfPossible(oldname, newname string) error {
	return t.on("symlink", newname, func(p pfs.Path) error {
		return pfs.MakeLink(t.ctx, t.fsys, oldname, p)
	})
}

// ReadlinkIfPossible returns the unresolved target of a link.
func (t *tree) ReadlinkIfPossible(name string) (target string, err error) {
	err = t.on("readlink", name, func(p pfs.Path) error {
		info, err := t.fsys.Stat(t.ctx, p)
		if err == nil && !info.IsLink() {
			err = pfs.Errorf("aferofs.Readlink", p, pfs.Invalid, "not a link")
		}
		target = info.Target
		return err
	})
	return target, err
}

// fileInfo is a pfs.Info as package fs describes files. Sys returns the pfs.Info.
type fileInfo struct{ info pfs.Info }

func (i fileInfo) Name() string       { return i.info.Name }
func (i fileInfo) Size() int64        { return i.info.Size }
func (i fileInfo) Mode() fs.FileMode  { return i.info.Mode }
func (i fileInfo) ModTime() time.Time { return i.info.ModTime }
func (i fileInfo) IsDir() bool        { return i.info.IsDir() }
func (i fileInfo) Sys() any           { return i.info }

// LstatIfPossible describes name itself.
func (t *tree) LstatIfPossible(name string) (fi os.FileInfo, lstat bool, err error) {
	err = t.on("lstat", name, func(p pfs.Path) error {
		info, err := t.fsys.Stat(t.ctx, p)
		fi = fileInfo{info}
		return err
	})
	return fi, true, err
}

// Stat returns the info of name or, if the tree follows links, of its target.
func (t *tree) Stat(name string) (os.FileInfo, error) {
	fi, _, err := t.LstatIfPossible(name)
	if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		return fi, err
	}
	f, err := t.Open(name)
	if errors.Is(err, pfs.Symlink) {
		return fi, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}
