package aferofs

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// fileInfo is a pfs.Info as package fs describes files. Sys returns the pfs.Info.
type fileInfo struct{ info pfs.Info }

var _ fs.FileInfo = fileInfo{}

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
	if err != nil {
		return nil, true, err
	}
	return fi, true, nil
}

// Stat describes name, or, if the tree follows links, what it leads to.
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
