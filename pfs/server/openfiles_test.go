package server

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// sized is a file of the given size. Reads beyond it fail.
type sized struct {
	n      int64
	closed int
}

func (f *sized) Info() pfs.Info { return pfs.Info{Size: f.n, Version: "v"} }
func (f *sized) Close() error   { f.closed++; return nil }
func (f *sized) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.n {
		return 0, io.EOF
	}
	return len(p), nil
}

// read uses a file of files as a request for n bytes does, and gives it back.
func read(t *testing.T, files *openFiles, f *sized, key fileKey, off int64, n int) {
	t.Helper()
	o := &openFile{File: f, kept: kept[fileKey]{key: key}, files: files}
	_, _ = o.ReadAt(t.Context(), make([]byte, n), off)
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

// at returns key for the chunk at off.
func at(key fileKey, off int64) fileKey {
	key.at = off
	return key
}

// TestOpenFiles keeps files open for sequential readers, and no others.
func TestOpenFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := newOpenFiles()
		key := fileKey{path: "/f", version: "v"}
		f, done, failed, nameless := &sized{n: 100}, &sized{n: 100}, &sized{n: 100}, &sized{n: 100}
		read(t, files, done, key, 90, 10)
		read(t, files, failed, key, 95, 10)
		read(t, files, nameless, fileKey{path: "/f"}, 0, 10)
		if done.closed != 1 || failed.closed != 1 || nameless.closed != 1 {
			t.Error("a file that is at its end, failed, or has no version is kept")
		}
		read(t, files, f, key, 0, 10)
		if files.take(at(key, 0)) != nil || files.take(at(fileKey{path: "/g", version: "v"}, 10)) != nil {
			t.Error("a file that is elsewhere, or another one, is taken for it")
		}
		o := files.take(at(key, 10))
		if o == nil || files.take(at(key, 10)) != nil {
			t.Fatal("a file goes to one request at a time")
		}
		_ = o.Close()
		time.Sleep(idleFile * 5 / 4)
		if synctest.Wait(); f.closed != 1 || files.take(at(key, 10)) != nil {
			t.Errorf("closed %d times when nobody came for it", f.closed)
		}
	})
}

// badlyClosed panics when it is closed.
type badlyClosed struct{ sized }

func (*badlyClosed) Close() error { panic("no such luck") }

// TestFilesThatNobodyComesForAreClosedByATimer closes idle files in a timer, where a panic would
// end the service.
func TestFilesThatNobodyComesForAreClosedByATimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := newOpenFiles()
		o := &openFile{File: &badlyClosed{sized{n: 100}}, kept: kept[fileKey]{key: fileKey{path: "/f", version: "v"}}, files: files}
		_, _ = o.ReadAt(t.Context(), make([]byte, 1), 0)
		_ = o.Close()
		time.Sleep(idleFile * 5 / 4)
		if synctest.Wait(); files.count() > 0 {
			t.Error("it is kept")
		}
	})
}

// TestOpenFilesAreFew closes the oldest of all.
func TestOpenFilesAreFew(t *testing.T) {
	files := newOpenFiles()
	key := fileKey{path: "/f", version: "v"}
	first := &sized{n: 1000}
	read(t, files, first, key, 0, 1)
	for i := range maxIdleFiles + 10 {
		read(t, files, &sized{n: 1000}, key, 0, i+2)
	}
	if first.closed != 1 || files.count() != maxIdleFiles {
		t.Errorf("the oldest was closed %d times, %d are kept", first.closed, files.count())
	}
	last := &sized{n: 100}
	files.closeAll()
	read(t, files, last, key, 0, 1)
	if files.count() != 0 || last.closed != 1 {
		t.Error("something is kept behind the end")
	}
}
