package auth

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/paddlecloud/pfs/pfs"
)

// fileError converts an error of package os to one with a Kind.
func fileError(op string, err error) error {
	var e *pfs.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return pfs.E(op, "", pfs.KindOf(err), err)
}

// writeFile atomically replaces the file path by one that only its owner may read. A reader, or a
// crashed machine, sees the old or the new one. The caller must serialize writers of one path.
func writeFile(path string, data []byte) error {
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeNew(temp, data); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(filepath.Dir(path))
}

// writeNew writes the file path durably, except for its directory entry.
func writeNew(path string, data []byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := giveToOwner(f, filepath.Dir(path)); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

// makeDir makes the directory dir durably, unless it exists.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// readFile reads a file of at most limit bytes, and returns what identifies its version.
func readFile(op, path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fileError(op, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fileError(op, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, nil, fileError(op, err)
	}
	if int64(len(data)) > limit {
		return nil, nil, pfs.Errorf(op, "", pfs.Invalid, "%s is longer than %d bytes", path, limit)
	}
	return data, info, nil
}

// readSecret is readFile for a file that must not be open to everybody.
func readSecret(op, path string, limit int64) ([]byte, fs.FileInfo, error) {
	data, info, err := readFile(op, path, limit)
	if err == nil && openToAll(info) {
		return nil, nil, pfs.Errorf(op, "", pfs.Permission, "%s holds secrets and is open to everybody (mode %04o): chmod 600 it", path, info.Mode().Perm())
	}
	return data, info, err
}

// sameVersion reports whether a and b have the same inode, size and time.
func sameVersion(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
