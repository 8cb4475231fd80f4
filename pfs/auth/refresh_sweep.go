package auth

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// dirBatch is how many directory entries are in memory at a time.
	dirBatch = 1024
	// staleTemp is the age at which an unfinished file is removed.
	staleTemp = 24 * time.Hour
)

// eachEntry calls f for the entries of dir, in no order and with bounded memory. A missing
// directory has none.
func eachEntry(dir string, f func(fs.DirEntry) error) error {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		entries, err := d.ReadDir(dirBatch)
		for _, e := range entries {
			if err := f(e); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// trim removes the least recently used files of dir until most are left.
func (s *refreshStore) trim(dir string, most int) error {
	var kept []fs.FileInfo
	err := eachEntry(dir, func(e fs.DirEntry) error {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another replica removed it first
		}
		kept = append(kept, info)
		return err
	})
	if err != nil || len(kept) <= most {
		return err
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range kept[:len(kept)-most] {
		if err := removedIsFine("auth.trim", os.Remove(filepath.Join(dir, info.Name()))); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes unfinished files and the tokens that dead reports. It returns the number of removed
// files.
func (s *refreshStore) sweep(ctx context.Context, op string, now time.Time, dead func(refreshRecord) bool) (n int, err error) {
	err = eachEntry(s.dir, func(user fs.DirEntry) error {
		dir := filepath.Join(s.dir, user.Name())
		if !user.IsDir() {
			return nil
		}
		return eachEntry(dir, func(e fs.DirEntry) error {
			if err := pfs.CheckContext(ctx, op, ""); err != nil {
				return err
			}
			path := filepath.Join(dir, e.Name())
			if !useless(op, path, e, now, dead) {
				return nil
			}
			n++
			return removedIsFine(op, os.Remove(path))
		})
	})
	return n, fileError(op, err)
}

// useless reports whether a file of the store can be removed. Unreadable files stay.
func useless(op, path string, e fs.DirEntry, now time.Time, dead func(refreshRecord) bool) bool {
	if strings.HasSuffix(path, ".new") {
		info, err := e.Info()
		return err == nil && now.Sub(info.ModTime()) > staleTemp
	}
	r, err := readRefresh(op, path)
	return err == nil && dead(r)
}
