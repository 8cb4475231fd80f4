package pfstest

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

// WriteFile publishes data as the file name, with the default pfs.CommitOptions.
func WriteFile(t testing.TB, fsys pfs.FileSystem, name pfs.Path, data []byte) pfs.Info {
	t.Helper()
	return WriteFileWith(t, fsys, name, data, pfs.CommitOptions{})
}

// WriteFileWith is WriteFile with other options; their Size is set here.
func WriteFileWith(t testing.TB, fsys pfs.FileSystem, name pfs.Path, data []byte, opts pfs.CommitOptions) pfs.Info {
	t.Helper()
	w, err := fsys.Create(t.Context(), name, pfs.CreateOptions{})
	if err != nil {
		t.Fatalf("Create %s: %v", name, err)
	}
	defer w.Close(t.Context())
	if _, err := w.WriteAt(t.Context(), data, 0); err != nil {
		t.Fatalf("WriteAt %s: %v", name, err)
	}
	opts.Size = int64(len(data))
	info, err := w.Commit(t.Context(), opts)
	if err != nil {
		t.Fatalf("Commit %s: %v", name, err)
	}
	return info
}

// NewSub returns the tree below the directory dir of fsys.
func NewSub(fsys pfs.FileSystem, dir pfs.Path) *pfs.Layer {
	return pfs.NewMux(pfs.Mount{At: pfs.Root, FS: fsys, Dir: dir})
}

// ReadFile returns the content of the file name. Its buffer is not zero at first, so that zeros
// must be read too.
func ReadFile(t testing.TB, fsys pfs.FileSystem, name pfs.Path) []byte {
	t.Helper()
	f, err := fsys.Open(t.Context(), name)
	if err != nil {
		t.Fatalf("Open %s: %v", name, err)
	}
	defer f.Close()
	p := bytes.Repeat([]byte{0xa5}, int(f.Info().Size))
	if err := pfs.ReadFull(t.Context(), f, p, 0); err != nil {
		t.Fatalf("ReadAt %s: %v", name, err)
	}
	return p
}

// WantFile fails the test unless the content of the file name is want.
func WantFile(t testing.TB, fsys pfs.FileSystem, name pfs.Path, want []byte) {
	t.Helper()
	if got := ReadFile(t, fsys, name); !bytes.Equal(got, want) {
		t.Fatalf("content of %s is %s, want %s", name, brief(got), brief(want))
	}
}

// WantAbsent fails the test unless none of the names exists.
func WantAbsent(t testing.TB, fsys pfs.FileSystem, names ...pfs.Path) {
	t.Helper()
	for _, name := range names {
		if info, err := fsys.Stat(t.Context(), name); !errors.Is(err, pfs.NotExist) {
			t.Fatalf("Stat %s = %+v, %v, want NotExist", name, info, err)
		}
	}
}

// MustStat describes name.
func MustStat(t testing.TB, fsys pfs.FileSystem, name pfs.Path) pfs.Info {
	t.Helper()
	info, err := fsys.Stat(t.Context(), name)
	if err != nil {
		t.Fatalf("Stat %s: %v", name, err)
	}
	return info
}

// MustMkdir makes the directories and their missing parents.
func MustMkdir(t testing.TB, fsys pfs.FileSystem, names ...pfs.Path) {
	t.Helper()
	for _, name := range names {
		if err := pfs.MkdirAll(t.Context(), fsys, name, 0o755); err != nil {
			t.Fatalf("MkdirAll %s: %v", name, err)
		}
	}
}

// MustLink makes name a symbolic link to target.
func MustLink(t testing.TB, fsys pfs.FileSystem, target string, name pfs.Path) {
	t.Helper()
	if err := pfs.MakeLink(t.Context(), fsys, target, name); err != nil {
		t.Fatalf("MakeLink %s: %v", name, err)
	}
}

// Names returns the names of the entries of dir, sorted.
func Names(t testing.TB, fsys pfs.FileSystem, dir pfs.Path) []string {
	t.Helper()
	var names []string
	for e, err := range pfs.Entries(t.Context(), fsys, dir, func(quoted string) {
		t.Fatalf("List %s: entry %s cannot be named", dir, quoted)
	}) {
		if err != nil {
			t.Fatalf("List %s: %v", dir, err)
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// WantNames fails the test unless want, which is sorted, are the entries of dir.
func WantNames(t testing.TB, fsys pfs.FileSystem, dir pfs.Path, want ...string) {
	t.Helper()
	if got := Names(t, fsys, dir); !slices.Equal(got, want) {
		t.Fatalf("entries of %s are %q, want %q", dir, got, want)
	}
}
