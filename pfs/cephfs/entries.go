//go:build ceph

package cephfs

import "github.com/paddlecloud/pfs/pfs/internal/posix"

// entries returns at most limit entries in the order of the store, and the token of the next page, or
// "" at the end. A token is the directory's inode and a position in the order of the hashes of
// names. Any process can continue with it, at the price of one page, and it stays valid when
// entries appear or disappear.
func (d *dir) entries(token string, limit int) (found []entry, next string, err error) {
	st, err := d.stat(".")
	if err != nil {
		return nil, "", err
	}
	off := int64(0)
	if token != "" {
		if off, err = posix.ParseToken(token, st.ino); err != nil {
			return nil, "", err
		}
	}
	r, err := d.read()
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	if err := r.seek(off); err != nil {
		return nil, "", err
	}
	for {
		e, ok, err := r.next()
		if err != nil || !ok {
			return found, "", err
		}
		if e.name == "." || e.name == ".." {
			continue
		}
		found = append(found, e)
		if len(found) == limit {
			return found, posix.Token(st.ino, e.next), nil
		}
	}
}

// reading is a directory that is being read.
type reading struct {
	c *call
	d *cDir
}

// read begins to read the directory.
func (d *dir) read() (*reading, error) {
	opened, err := ask(d.c, func(m *cMount, p *cPerms) (*cDir, error) { return opendir(m, d.in, p) })
	return &reading{c: d.c, d: opened}, err
}

func (r *reading) seek(off int64) error {
	if off == 0 {
		return nil
	}
	return r.c.lib(func(m *cMount, _ *cPerms) error {
		seekdir(m, r.d, off)
		return nil
	})
}

func (r *reading) next() (e entry, ok bool, err error) {
	err = r.c.lib(func(m *cMount, _ *cPerms) (err error) {
		e, ok, err = readdir(m, r.d)
		return err
	})
	return e, ok, err
}

// Close ends the reading.
func (r *reading) Close() {
	if r.c.m.enter() != nil {
		return
	}
	defer r.c.m.leave()
	releasedir(r.c.m.c, r.d)
}
