package pfs

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Mount places a tree in a larger one: the path At is Dir of FS.
type Mount struct {
	At  Path
	FS  FileSystem
	Dir Path
}

// NewMux returns one tree of all mounts. A path belongs to the mount with the longest At that it
// is within. The directories above the mounts exist, are read-only, and hold only what leads to
// a mount; the top of a mount cannot be removed or renamed. A mount below another one hides what
// that one has there, and does not appear in its listings.
func NewMux(mounts ...Mount) *Layer {
	byDepth := slices.Clone(mounts)
	slices.SortStableFunc(byDepth, func(a, b Mount) int { return len(b.At) - len(a.At) })
	above := newMountDirs(mounts)
	return NewLayer(func(_ context.Context, a Access, name Path, call func(FileSystem, Path) error) error {
		for _, m := range byDepth {
			if name.Within(m.At) {
				if name == m.At && a == Delete {
					return Errorf("pfs.Mux", name, Invalid, "the top of a mounted tree stays where it is")
				}
				return call(m.FS, name.Rebase(m.At, m.Dir))
			}
		}
		return call(above, name)
	})
}

// mountDirs is the read-only tree of the directories above the mounts of a Mux.
type mountDirs struct {
	children map[Path][]string // names in each directory, sorted
	born     time.Time
}

var (
	_ FileSystem    = (*mountDirs)(nil)
	_ AccessChecker = (*mountDirs)(nil)
)

func newMountDirs(mounts []Mount) *mountDirs {
	d := &mountDirs{children: map[Path][]string{Root: nil}, born: time.Now()}
	for _, m := range mounts {
		for p := m.At; p != Root; p = p.Parent() {
			names := d.children[p.Parent()]
			if i, found := slices.BinarySearch(names, p.Base()); !found {
				d.children[p.Parent()] = slices.Insert(names, i, p.Base())
			}
		}
	}
	return d
}

func (d *mountDirs) info(name Path) Info {
	return Info{Name: name.Base(), Mode: fs.ModeDir | 0o555, ModTime: d.born}
}

// refuse answers every change and every access to content: these are directories.
func (d *mountDirs) refuse(op string, name Path) error {
	if _, ok := d.children[name]; ok {
		return E(op, name, ReadOnly, nil)
	}
	if _, ok := d.children[name.Parent()]; ok {
		return Errorf(op, name, ReadOnly, "nothing can be created in %s", name.Parent())
	}
	return E(op, name, NotExist, nil)
}

func (d *mountDirs) Open(_ context.Context, name Path) (File, error) {
	if _, ok := d.children[name]; ok {
		return nil, E("pfs.Mux.Open", name, IsDir, nil)
	}
	return nil, E("pfs.Mux.Open", name, NotExist, nil)
}

func (d *mountDirs) Create(_ context.Context, name Path, _ CreateOptions) (Staged, error) {
	return nil, d.refuse("pfs.Mux.Create", name)
}

func (d *mountDirs) Stat(_ context.Context, name Path) (Info, error) {
	if _, ok := d.children[name]; !ok {
		return Info{}, E("pfs.Mux.Stat", name, NotExist, nil)
	}
	return d.info(name), nil
}

func (d *mountDirs) List(_ context.Context, dir Path, opts ListOptions) (Page, error) {
	names, ok := d.children[dir]
	if !ok {
		return Page{}, E("pfs.Mux.List", dir, NotExist, nil)
	}
	names = names[lowerBound(names, opts.Token):]
	var page Page
	for i, name := range names {
		if i == opts.Max() {
			page.Next = names[i-1]
			break
		}
		page.Entries = append(page.Entries, d.info(dir.Join(name)))
	}
	return page, nil
}

// lowerBound returns the index of the first name after token.
func lowerBound(names []string, token string) int {
	if token == "" {
		return 0
	}
	i, found := slices.BinarySearchFunc(names, token, strings.Compare)
	if found {
		i++
	}
	return i
}

func (d *mountDirs) Mkdir(_ context.Context, name Path, _ fs.FileMode) error {
	if _, ok := d.children[name]; ok {
		return nil
	}
	return d.refuse("pfs.Mux.Mkdir", name)
}

func (d *mountDirs) Remove(_ context.Context, name Path) error {
	return d.refuseExisting("pfs.Mux.Remove", name)
}

func (d *mountDirs) Rename(_ context.Context, oldName, _ Path) error {
	return d.refuseExisting("pfs.Mux.Rename", oldName)
}

func (d *mountDirs) CheckAccess(ctx context.Context, a Access, name Path) error {
	const op = "pfs.Mux.CheckAccess"
	switch a {
	case Make:
		return d.Mkdir(ctx, name, 0)
	case Write:
		return d.refuse(op, name)
	case Delete:
		return d.refuseExisting(op, name)
	}
	return nil
}

// refuseExisting returns the error for a change to a directory that must exist.
func (d *mountDirs) refuseExisting(op string, name Path) error {
	if _, ok := d.children[name]; !ok {
		return E(op, name, NotExist, nil)
	}
	return d.refuse(op, name)
}
