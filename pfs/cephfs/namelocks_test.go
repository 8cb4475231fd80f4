//go:build ceph

package cephfs

import (
	"fmt"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestNameChangedAtOnce changes a name while a rename removes it. libcephfs ended the program when
// the cluster refused a change of a name that such a rename had removed.
func TestNameChangedAtOnce(t *testing.T) {
	f := own(t)
	for _, tt := range []struct {
		what   string
		change func(d *dir, name string) error
	}{
		{"rmdir", func(d *dir, name string) error { return d.rmdir(name) }},
		{"unlink", func(d *dir, name string) error { return d.unlink(name) }},
		{"mkdir", func(d *dir, name string) error { return d.mkdir(name, 0o755, nil) }},
		{"symlink", func(d *dir, name string) error { return d.symlink("target", name, nil) }},
		{"link", func(d *dir, name string) error { return d.link("file", d, name) }},
		{"rename to it", func(d *dir, name string) error { return d.rename("file", d, name, false) }},
		{"rename of it", func(d *dir, name string) error { return d.rename(name, d, name+"-other", false) }},
		{"create", func(d *dir, name string) error {
			h, _, err := d.create(name, 0o644, 0)
			if err == nil {
				h.drop()
			}
			return err
		}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			top := pfs.Root.Join(tt.what)
			must(t, f.Mkdir(t.Context(), top, 0o755))
			pfstest.WriteFile(t, f, top.Join("file"), []byte("content"))
			must(t, f.inDir(t.Context(), top, func(d *dir) error {
				var wg sync.WaitGroup
				defer wg.Wait()
				for i := range 50 {
					name := fmt.Sprint(i)
					if err := d.mkdir(name, 0o755, nil); err != nil {
						return err
					}
					wg.Go(func() { _ = d.rename(name, d, name+"-moved", false) })
					wg.Go(func() { _ = tt.change(d, name) })
				}
				return nil
			}))
		})
	}
}

func (d *dir) link(name string, to *dir, newName string) error {
	return d.on(name, func(in *cInode, _ stat) error {
		return d.c.once(func(m *cMount, p *cPerms) error { return link(m, in, to.in, newName, p) }, to.place(newName))
	})
}
