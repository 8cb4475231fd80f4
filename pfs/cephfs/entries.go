//go:build ceph

package cephfs

import "fmt"

// entries returns up to limit entries in the order of the store, and the token of the next page, or
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
		if off, err = parseCursor(token, st.ino); err != nil {
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
			return found, cursor(st.ino, e.next), nil
		}
	}
}

// cursor makes a token.
func cursor(ino uint64, off int64) string { return fmt.Sprintf("%x.%x", ino, off) }

// parseCursor parses a token that was made for the directory ino.
func parseCursor(token string, ino uint64) (off int64, err error) {
	var of uint64
	if n, err := fmt.Sscanf(token, "%x.%x", &of, &off); n != 2 || err != nil || of != ino || off < 0 {
		return 0, errStaleToken
	}
	return off, nil
}

// reading is a directory that is being read.
type reading struct {
	c *call
	d *cDir
}

// read begins to read the directory.
func (d *dir) read() (*reading, error) {
	r := &reading{c: d.c}
	err := d.c.lib(func(m *cMount, p *cPerms) (err error) {
		r.d, err = opendir(m, d.in, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
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
