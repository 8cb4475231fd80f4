package pfs_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

const copyID = "0123456789copyid"

// copies returns a store whose copies pass through the caller, and the content of
// its file /f, which has three chunks and a bit.
func copies(t *testing.T) (core, []byte) {
	t.Helper()
	fsys := core{memfs.New(memfs.Options{})}
	data := pfstest.Pattern(1, 3*pfs.ChunkSize+5)
	pfstest.WriteFileWith(t, fsys, "/f", data, pfs.CommitOptions{Mode: 0o640, ModTime: time.Unix(1e9, 0), Digest: "xxh3:00"})
	return fsys, data
}

// TestCopyFileThroughCaller keeps no digest that may be another file's: nobody computed
// one from what was copied.
func TestCopyFileThroughCaller(t *testing.T) {
	fsys, data := copies(t)
	var told []int64
	info, err := pfs.CopyFile(t.Context(), fsys, "/f", "/copy", pfs.CopyOptions{}, func(done int64) { told = append(told, done) })
	if err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, fsys, "/copy", data)
	if info.Name != "copy" || info.Mode != 0o640 || !info.ModTime.Equal(time.Unix(1e9, 0)) || info.Digest != "" {
		t.Errorf("the copy is %+v", info)
	}
	if len(told) != 4 || told[0] != pfs.ChunkSize || told[3] != int64(len(data)) {
		t.Errorf("progress = %d", told)
	}
}

func TestCopyFileEndsBetweenChunks(t *testing.T) {
	fsys, _ := copies(t)
	ctx, cancel := context.WithCancel(t.Context())
	var told int64
	_, err := pfs.CopyFile(ctx, fsys, "/f", "/copy", pfs.CopyOptions{}, func(done int64) {
		told = done
		cancel()
	})
	pfstest.WantKind(t, err, pfs.Canceled)
	if told != pfs.ChunkSize {
		t.Errorf("%d bytes were copied after the end was asked for", told-pfs.ChunkSize)
	}
	pfstest.WantNames(t, fsys, "/", "f")
}

func TestCopyFileGoesOn(t *testing.T) {
	fsys, data := copies(t)
	opts := pfs.CopyOptions{ID: copyID}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := pfs.CopyFile(ctx, fsys, "/f", "/copy", opts, func(int64) { cancel() })
	pfstest.WantKind(t, err, pfs.Canceled)

	// What was staged may be wrong: of another version of the file, say.
	w, err := fsys.Create(t.Context(), "/copy", pfs.CreateOptions{ID: copyID, Reopen: true})
	if err != nil || !w.Resumed() {
		t.Fatalf("nothing was kept: %v", err)
	}
	if _, err := w.WriteAt(t.Context(), []byte("wrong"), 100); err != nil {
		t.Fatal(err)
	}
	w.Suspend()

	if _, err := pfs.CopyFile(t.Context(), fsys, "/f", "/copy", opts, nil); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, fsys, "/copy", data)
}

func TestCopyFileWritesOnlyWhatIsMissing(t *testing.T) {
	fsys, data := copies(t)
	w, err := fsys.Create(t.Context(), "/copy", pfs.CreateOptions{ID: copyID})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteAt(t.Context(), data[:2*pfs.ChunkSize], 0); err != nil {
		t.Fatal(err)
	}
	w.Suspend()
	counted := &countWrites{FileSystem: fsys}
	if _, err := pfs.CopyFile(t.Context(), counted, "/f", "/copy", pfs.CopyOptions{ID: copyID}, nil); err != nil {
		t.Fatal(err)
	}
	if want := int64(len(data) - 2*pfs.ChunkSize); counted.n != want {
		t.Errorf("%d bytes were written, want %d", counted.n, want)
	}
	pfstest.WantFile(t, fsys, "/copy", data)
}

// countWrites counts the bytes that are staged.
type countWrites struct {
	pfs.FileSystem
	n int64
}

func (c *countWrites) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := c.FileSystem.Create(ctx, name, opts)
	return countedStaged{w, &c.n}, err
}

type countedStaged struct {
	pfs.Staged
	n *int64
}

func (c countedStaged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	*c.n += int64(len(p))
	return c.Staged.WriteAt(ctx, p, off)
}

func TestCopyFileOfWhatChanges(t *testing.T) {
	changes := map[string]func(pfs.FileSystem) error{
		"replaced": func(fsys pfs.FileSystem) error {
			pfstest.WriteFile(t, fsys, "/f", pfstest.Pattern(2, 3*pfs.ChunkSize+5))
			return nil
		},
		"removed": func(fsys pfs.FileSystem) error { return fsys.Remove(t.Context(), "/f") },
	}
	for what, change := range changes {
		fsys, _ := copies(t)
		pfstest.WriteFile(t, fsys, "/copy", []byte("old"))
		_, err := pfs.CopyFile(t.Context(), fsys, "/f", "/copy", pfs.CopyOptions{}, func(done int64) {
			if done == pfs.ChunkSize {
				if err := change(fsys); err != nil {
					t.Error(err)
				}
			}
		})
		if !errors.Is(err, pfs.Conflict) {
			t.Errorf("copy of a file that is %s: %v, want Conflict", what, err)
		}
		pfstest.WantFile(t, fsys, "/copy", []byte("old"))
	}
}

func TestCopyFileUsesTheCopier(t *testing.T) {
	s := newSpy()
	tree(t, s, "/f")
	s.noted()
	store := struct {
		*spy
		pfs.Copier
	}{s, s.FileSystem.(pfs.Copier)}
	if _, err := pfs.CopyFile(t.Context(), store, "/f", "/copy", pfs.CopyOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	if calls := s.noted(); len(calls) != 0 {
		t.Errorf("the bytes passed through the caller: %q", calls)
	}
	pfstest.WantFile(t, s, "/copy", []byte("/f"))
}

func TestCopyFileThroughLayer(t *testing.T) {
	fsys, data := copies(t)
	sub := pfs.NewSub(fsys, "/")
	if _, err := pfs.CopyFile(t.Context(), sub, "/f", "/copy", pfs.CopyOptions{NewTime: true}, nil); err != nil {
		t.Fatal(err)
	}
	if got := pfstest.ReadFile(t, sub, "/copy"); !bytes.Equal(got, data) {
		t.Error("wrong content")
	}
	if age := time.Since(pfstest.MustStat(t, sub, "/copy").ModTime); age.Abs() > time.Minute {
		t.Errorf("the copy is %v old", age)
	}
}
