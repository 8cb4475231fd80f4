//go:build !linux

package localfs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// canConfine says that this system cannot refuse links on the way: it has only the mode
// for a user's own files.
const canConfine = false

// dir is a directory, by its path.
type dir struct{ path string }

func (d *dir) join(name string) string { return filepath.Join(d.path, name) }

func (s *FS) openDir(op string, name pfs.Path) (*dir, error) {
	d := &dir{filepath.Join(s.root.Name(), filepath.FromSlash(string(name)))}
	info, err := os.Stat(d.path)
	if err != nil {
		return nil, fail(op, name, err)
	}
	if !info.IsDir() {
		return nil, pfs.E(op, name, pfs.NotDir, nil)
	}
	return d, nil
}

func (d *dir) Close() error { return nil }

// statted is what the operating system tells of a file.
type statted struct {
	info       pfs.Info
	inode, dev uint64
}

func newStatted(name string, fi os.FileInfo) statted {
	info := pfs.Info{Name: name, Size: fi.Size(), Mode: fi.Mode(), ModTime: fi.ModTime()}
	if info.IsDir() {
		info.Size = 0
	}
	if info.IsRegular() {
		info.Version = strconv.FormatInt(fi.Size(), 36) + "." + strconv.FormatInt(fi.ModTime().UnixNano(), 36)
	}
	return statted{info: info}
}

func (d *dir) stat(name string) (statted, error) {
	fi, err := os.Lstat(d.join(name))
	if err != nil {
		return statted{}, err
	}
	st := newStatted(name, fi)
	if st.info.IsLink() {
		if st.info.Target, err = os.Readlink(d.join(name)); err != nil {
			return statted{}, err
		}
		st.info.Size = int64(len(st.info.Target))
	}
	return st, nil
}

func (d *dir) statSelf() (statted, error) {
	fi, err := os.Stat(d.path)
	if err != nil {
		return statted{}, err
	}
	return newStatted(".", fi), nil
}

func statFile(f *os.File, name string) (statted, error) {
	fi, err := f.Stat()
	if err != nil {
		return statted{}, err
	}
	return newStatted(name, fi), nil
}

// open opens a file, but not a special one, which could wait for ever.
func (d *dir) open(name string, flags int, perm os.FileMode) (*os.File, error) {
	if fi, err := os.Stat(d.join(name)); err == nil && !fi.Mode().IsRegular() && !fi.IsDir() {
		return nil, errors.ErrUnsupported
	}
	return os.OpenFile(d.join(name), flags, perm.Perm())
}

func (d *dir) sub(name string) (*dir, error) { return &dir{d.join(name)}, nil }

func (d *dir) mkdir(name string, perm os.FileMode) error {
	if err := os.Mkdir(d.join(name), perm.Perm()); err != nil {
		return err
	}
	return d.chmod(name, perm) // past the umask
}

func (d *dir) unlink(name string) error          { return os.Remove(d.join(name)) }
func (d *dir) rmdir(name string) error           { return os.Remove(d.join(name)) }
func (d *dir) symlink(target, name string) error { return os.Symlink(target, d.join(name)) }

// rename moves name to the name to of dst. Windows does not rename what is open.
func (d *dir) rename(name string, dst *dir, to string) error {
	return os.Rename(d.join(name), dst.join(to))
}

func (d *dir) renameExclusive(name string, dst *dir, to string) error {
	if err := os.Link(d.join(name), dst.join(to)); err != nil {
		return err
	}
	return d.unlink(name)
}

func (d *dir) chmod(name string, perm os.FileMode) error { return os.Chmod(d.join(name), perm.Perm()) }

func (d *dir) chtime(name string, mtime time.Time) error {
	return os.Chtimes(d.join(name), time.Time{}, mtime)
}

func setTime(f *os.File, mtime time.Time) error { return os.Chtimes(f.Name(), time.Time{}, mtime) }

// sync makes the names in d durable, where a directory can be synced at all.
func (d *dir) sync() error {
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer f.Close()
	_ = f.Sync()
	return nil
}

func (d *dir) syncDisk() error { return d.sync() }

func (d *dir) space() (pfs.Space, error) { return pfs.Space{}, errors.ErrUnsupported }

func preallocate(*os.File, int64) error { return nil }

func startWriting(*os.File, int64, int64) {}

func getxattr(*os.File, []byte) (int, error)          { return 0, errors.ErrUnsupported }
func setxattr(*os.File, []byte) error                 { return errors.ErrUnsupported }
func removexattr(*os.File) error                      { return errors.ErrUnsupported }
func (d *dir) getxattrAt(string, []byte) (int, error) { return 0, errors.ErrUnsupported }
func (d *dir) setxattrAt(name string, v []byte) error { return errors.ErrUnsupported }

// names calls fn with the names in d from the place token on, a count of names, until
// fn returns false. To go on it reads the directory from its start.
func (d *dir) names(token string, fn func(name string) bool) (next string, err error) {
	skip := 0
	if token != "" {
		if skip, err = strconv.Atoi(token); err != nil || skip < 0 {
			return "", pfs.Errorf("localfs.List", "", pfs.Conflict, "no place in this directory: begin again")
		}
	}
	f, err := os.Open(d.path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for at := 0; ; {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			if at++; at > skip && !fn(strings.Clone(name)) {
				return strconv.Itoa(at), nil
			}
		}
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
	}
}
