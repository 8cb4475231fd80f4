package hdfsfs

import (
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestPartFails checks that a part that could not be stored stays failed for every call until it is
// written again from its start.
func TestPartFails(t *testing.T) {
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(3, 2*small)
	nameTaken := func(w *staged) (mend func()) {
		at := partPath(w.dir, 1)
		must(t, f.keepDir(t.Context(), at, 0o700))
		return func() {
			must(t, f.removeAll(t.Context(), at))
		}
	}
	safeMode := func(*staged) (mend func()) { return c.SafeMode(t) }
	for _, tt := range []struct {
		name string
		fail func(w *staged) (mend func())
		n    int // bytes that are written before Sync
		want pfs.Kind
	}{
		{"a part whose name is taken", nameTaken, small + 1000, pfs.Other},
		{"a whole part whose name is taken", nameTaken, 2 * small, pfs.Other},
		{"safe mode", safeMode, small + 1000, pfs.Integrity},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, err := f.create(t.Context(), "test", "/f", pfs.CreateOptions{})
			must(t, err)
			defer w.Close(t.Context())
			_, err = w.WriteAt(t.Context(), data[:small], 0)
			must(t, err)
			must(t, w.Sync(t.Context())) // or the part before fails too
			_, err = w.WriteAt(t.Context(), data[small:small+500], small)
			must(t, err)
			mend := tt.fail(w)
			_, err = w.WriteAt(t.Context(), data[small+500:tt.n], small+500)
			must(t, err)
			pfstest.WantKind(t, w.Sync(t.Context()), tt.want)
			mend()
			pfstest.WantKind(t, w.Sync(t.Context()), pfs.Integrity)
			_, err = w.WriteAt(t.Context(), data[small+500:], small+500)
			pfstest.WantKind(t, err, pfs.Integrity)
			_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: 2 * small})
			pfstest.WantKind(t, err, pfs.Integrity)
			_, err = w.WriteAt(t.Context(), data[small:], small)
			must(t, err)
			must(t, w.Sync(t.Context()))
			_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: 2 * small})
			must(t, err)
			pfstest.WantFile(t, f, "/f", data)
		})
	}
}

// TestOlderPart checks that an old part is neither read nor published if its replacement could not
// be renamed.
func TestOlderPart(t *testing.T) {
	c := testbed.HDFSAlone(t)
	f := open(t, options(c, c.Scratch(t)))
	old, data := pfstest.Pattern(1, small+9), pfstest.Pattern(2, small+9)
	w, err := f.create(t.Context(), "test", "/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	_, err = w.WriteAt(t.Context(), old, 0)
	must(t, err)
	must(t, w.Sync(t.Context()))
	_, err = w.WriteAt(t.Context(), data[small:], small)
	must(t, err)
	pt := w.part(1)
	a, err := pt.close(t.Context())
	must(t, err)
	leave := c.SafeMode(t)
	pfstest.WantKind(t, pt.store(t.Context(), a), pfs.Integrity)
	leave()
	opts := pfs.CommitOptions{Size: small + 9}
	_, err = w.Commit(t.Context(), opts)
	pfstest.WantKind(t, err, pfs.Integrity)
	leaves, err := w.LeafDigests(t.Context(), opts.Size, 0, 1)
	must(t, err)
	if len(leaves) != 0 {
		t.Error("a part that failed has bytes")
	}
	_, err = w.WriteAt(t.Context(), data, 0)
	must(t, err)
	_, err = w.Commit(t.Context(), opts)
	must(t, err)
	pfstest.WantFile(t, f, "/f", data)
}

// TestFailedBehindEnd publishes a complete file although a part beyond its end failed.
func TestFailedBehindEnd(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(2, small+9)
	w, err := f.create(t.Context(), "test", "/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	_, err = w.WriteAt(t.Context(), data, 0)
	must(t, err)
	w.part(1).drop()
	pfstest.WantKind(t, w.part(1).lost(9, pfs.Unavailable), pfs.Integrity)
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: small + 9})
	pfstest.WantKind(t, err, pfs.Integrity)
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: small})
	must(t, err)
	pfstest.WantFile(t, f, "/f", data[:small])
}
