package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

func TestCopyBatch(t *testing.T) {
	store := memfs.New(memfs.Options{})
	s := serve(t, store)
	c := s.connect(t, s.URL)
	pfstest.WriteFile(t, store, "/old", []byte("of old"))
	pfstest.WriteFile(t, store, "/grown", []byte("more than was thought"))
	var files []pfs.BatchCopy
	for i := range wire.MaxBatchEntries + 10 { // more than one request holds
		name := pfs.Path(fmt.Sprint("/f", i))
		pfstest.WriteFile(t, store, name, pfstest.Pattern(uint64(i), i))
		files = append(files, pfs.BatchCopy{Source: name, Target: "/copy-of-" + name[1:], Size: int64(i)})
	}
	if err := errors.Join(pfs.SetAttr(t.Context(), store, "/f3", pfs.AttrMode, pfs.Attrs{Mode: 0o640}), pfs.SetAttr(t.Context(), store, "/f3", pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)}), pfs.SetAttr(t.Context(), store, "/f4", pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)})); err != nil {
		t.Fatal(err)
	}
	files[4].NewTime = true
	files[5].Target = "/old"
	for i, err := range c.CopyBatch(t.Context(), files) {
		f := files[i]
		data := pfstest.Pattern(uint64(i), i)
		if err != nil || f.Digest != digest.Bytes(data) {
			t.Fatalf("%s: %v, digest %s", f.Source, err, f.Digest)
		}
		pfstest.WantFile(t, store, f.Target, data)
		if kept := pfstest.MustStat(t, store, f.Target).Digest; kept != f.Digest {
			t.Fatalf("%s keeps the digest %q, want %s", f.Target, kept, f.Digest)
		}
	}
	if info := pfstest.MustStat(t, store, "/copy-of-f3"); info.Mode != 0o640 || !info.ModTime.Equal(time.Unix(1e9, 0)) {
		t.Errorf("mode %v and time %v of the copy, want those of the source", info.Mode, info.ModTime)
	}
	if info := pfstest.MustStat(t, store, "/copy-of-f4"); time.Since(info.ModTime).Abs() > time.Minute {
		t.Errorf("the copy has the time %v, want now", info.ModTime)
	}
}

// TestCopyBatchErrors checks that a file that cannot be copied has a separate error, which names
// its path, and does not affect the others.
func TestCopyBatchErrors(t *testing.T) {
	store := memfs.New(memfs.Options{})
	s := serve(t, store)
	c := s.connect(t, s.URL)
	pfstest.WriteFile(t, store, "/f", []byte("12345"))
	pfstest.WriteFile(t, store, "/old", []byte("of old"))
	writeDamaged(t, store, "/damaged", []byte("12345"))
	tests := []struct {
		pfs.BatchCopy
		want pfs.Kind
		path pfs.Path
	}{
		{pfs.BatchCopy{Source: "/f", Target: "/first", Size: 5}, 0, ""},
		{pfs.BatchCopy{Source: "/f", Target: "/grown", Size: 4}, pfs.Conflict, "/f"},
		{pfs.BatchCopy{Source: "/absent", Target: "/x", Size: 5}, pfs.NotExist, "/absent"},
		{pfs.BatchCopy{Source: "/f", Target: "/absent/x", Size: 5}, pfs.NotExist, "/absent/x"},
		{pfs.BatchCopy{Source: "/f", Target: "/old", Size: 5, NoReplace: true}, pfs.Exist, "/old"},
		{pfs.BatchCopy{Source: "/damaged", Target: "/spread", Size: 5}, pfs.Integrity, "/damaged"},
		{pfs.BatchCopy{Source: "/f", Target: "/large", Size: wire.MaxBatchBytes + 1}, pfs.Unsupported, "/large"},
		{pfs.BatchCopy{Source: "/f", Target: "/a/../b", Size: 5}, pfs.Invalid, ""},
		{pfs.BatchCopy{Source: "/f", Target: "/last", Size: 5}, 0, ""},
	}
	var files []pfs.BatchCopy
	for _, tt := range tests {
		files = append(files, tt.BatchCopy)
	}
	for i, err := range c.CopyBatch(t.Context(), files) {
		tt := tests[i]
		if tt.want == 0 {
			if err != nil {
				t.Errorf("to %s: %v", tt.Target, err)
			}
			continue
		}
		pfstest.WantKind(t, err, tt.want)
		var e *pfs.Error
		if tt.path != "" && (!errors.As(err, &e) || e.Path != tt.path) {
			t.Errorf("to %s: %v, want one that names %s", tt.Target, err, tt.path)
		}
	}
	pfstest.WantNames(t, store, pfs.Root, "damaged", "f", "first", "last", "old")
	pfstest.WantFile(t, store, "/old", []byte("of old"))
}

// writeDamaged makes a file that keeps the digest of other bytes.
func writeDamaged(t *testing.T, store pfs.FileSystem, name pfs.Path, data []byte) {
	t.Helper()
	w, err := store.Create(t.Context(), name, pfs.CreateOptions{Size: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	if _, err := w.WriteAt(t.Context(), data, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data)), Digest: digest.Bytes([]byte("other"))}); err != nil {
		t.Fatal(err)
	}
}
