package pfs_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestReader(t *testing.T) {
	fsys, data := memfs.New(memfs.Options{}), pfstest.Pattern(1, 5000)
	pfstest.WriteFile(t, fsys, "/f", data)
	f, err := fsys.Open(t.Context(), "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := iotest.TestReader(pfs.NewReader(t.Context(), f), data); err != nil {
		t.Error(err)
	}
	r := pfs.NewReader(t.Context(), f)
	if r.Size() != 5000 {
		t.Errorf("Size = %d", r.Size())
	}
	if _, err := r.Seek(-1, io.SeekStart); !errors.Is(err, pfs.Invalid) {
		t.Errorf("Seek before the start: %v", err)
	}
	if n, err := r.Seek(10, io.SeekEnd+1); n != 0 || !errors.Is(err, pfs.Invalid) {
		t.Errorf("Seek from nowhere: %d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pfs.NewReader(ctx, f).Read(make([]byte, 1)); !errors.Is(err, pfs.Canceled) {
		t.Errorf("Read with a context that is done: %v", err)
	}
}

// shortFile claims a greater length than it has, and returns few bytes at a time.
type shortFile struct {
	io.ReaderAt
	size int64
}

func (f shortFile) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	return f.ReaderAt.ReadAt(p, off)
}
func (f shortFile) Info() pfs.Info { return pfs.Info{Name: "short", Size: f.size} }
func (f shortFile) Close() error   { return nil }

func TestReadFull(t *testing.T) {
	f := shortFile{strings.NewReader("content"), 10}
	p := make([]byte, 7)
	if err := pfs.ReadFull(t.Context(), f, p, 0); err != nil || string(p) != "content" {
		t.Errorf("ReadFull = %q, %v", p, err)
	}
	for _, off := range []int64{1, 7, 100} {
		if err := pfs.ReadFull(t.Context(), f, p, off); !errors.Is(err, pfs.Integrity) {
			t.Errorf("ReadFull at %d of a file that is too short: %v, want Integrity", off, err)
		}
	}
	if err := pfs.ReadFull(t.Context(), f, nil, 100); err != nil {
		t.Errorf("ReadFull of nothing: %v", err)
	}
}
