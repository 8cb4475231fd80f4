package hdfsfs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

const testID = "0123456789abcdef"

// TestIdentity checks that all handles of one upload have the same identity, and handles of
// different uploads do not.
func TestIdentity(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	identity := func(name pfs.Path, id string) any {
		w, err := f.Create(t.Context(), name, pfs.CreateOptions{ID: id})
		must(t, err)
		t.Cleanup(func() { w.Close(t.Context()) })
		return pfs.IdentityOf(w)
	}
	first := identity("/f", testID)
	if first == nil || identity("/f", testID) != first {
		t.Error("two handles of an upload have different identities")
	}
	if identity("/f", testID+"0") == first || identity("/g", testID) == first {
		t.Error("another upload has the same identity")
	}
}

// TestResumeKeepsParts resumes an upload and sends only the missing parts.
func TestResumeKeepsParts(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(5, 4*small+10)
	w, err := f.create(t.Context(), "test", "/f", pfs.CreateOptions{ID: testID})
	must(t, err)
	for _, part := range []int{0, 2, 3} {
		_, err := w.WriteAt(t.Context(), data[part*small:(part+1)*small], int64(part*small))
		must(t, err)
	}
	must(t, w.Sync(t.Context()))
	before := inodes(t, f, w.dir)
	// The first handle is not closed, as if its process had died.
	o := f.opts
	o.BlockSize = 2 * small // a resumed upload keeps its block size
	again := open(t, o)
	w, err = again.create(t.Context(), "test", "/f", pfs.CreateOptions{ID: testID, Reopen: true})
	must(t, err)
	defer w.Close(t.Context())
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
	pfstest.WantKind(t, err, pfs.Integrity)
	for _, part := range []int{1, 4} {
		_, err := w.WriteAt(t.Context(), data[part*small:min(len(data), (part+1)*small)], int64(part*small))
		must(t, err)
	}
	must(t, w.Sync(t.Context()))
	after := inodes(t, f, w.dir)
	for name, id := range before {
		if after[name] != id {
			t.Errorf("%s was written again", name)
		}
	}
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(data))})
	must(t, err)
	pfstest.WantFile(t, f, "/f", data)
	if left, err := f.entries(t.Context(), f.stage.home()); err != nil || len(left) != 0 {
		t.Errorf("%d entries are left of the upload, error %v", len(left), err)
	}
}

// inodes returns the inodes of the parts of an upload.
func inodes(t *testing.T, f *FS, dir string) map[string]uint64 {
	t.Helper()
	all, err := f.entries(t.Context(), dir)
	must(t, err)
	ids := map[string]uint64{}
	for _, st := range all {
		if strings.HasPrefix(st.Name, partPrefix) {
			ids[st.Name] = st.id
		}
	}
	return ids
}

// TestCommitCutOff resumes a Commit that crashed after each of its steps.
func TestCommitCutOff(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	data := pfstest.Pattern(5, 4*small+10)
	size := int64(len(data))
	for name, crash := range map[string]func(w *staged, all content) error{
		"first part renamed": func(w *staged, all content) error { return w.concat(t.Context(), "test", firstParts(all, 1), small) },
		"some parts joined":  func(w *staged, all content) error { return w.concat(t.Context(), "test", firstParts(all, 3), 3*small) },
		"all parts joined":   func(w *staged, all content) error { return w.concat(t.Context(), "test", all, size) },
		"properties given": func(w *staged, all content) error {
			whole, err := w.join(t.Context(), "test", all, size)
			must(t, err)
			return f.finalize(t.Context(), whole, pfs.Root, w.id, pfs.CommitOptions{Size: size})
		},
		"renamed": func(w *staged, all content) error {
			whole, err := w.join(t.Context(), "test", all, size)
			must(t, err)
			must(t, f.finalize(t.Context(), whole, pfs.Root, w.id, pfs.CommitOptions{Size: size}))
			return f.move(t.Context(), whole, f.at("/f"), false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := f.create(t.Context(), "test", "/f", pfs.CreateOptions{ID: testID})
			must(t, err)
			_, err = w.WriteAt(t.Context(), data, 0)
			must(t, err)
			must(t, w.Sync(t.Context()))
			all, err := f.contentOf(t.Context(), w.dir)
			must(t, err)
			must(t, crash(w, all))
			if name != "renamed" {
				pfstest.WantAbsent(t, f, "/f")
			}
			w, err = f.create(t.Context(), "test", "/f", pfs.CreateOptions{ID: testID})
			must(t, err)
			defer w.Close(t.Context())
			_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: size})
			must(t, err)
			pfstest.WantFile(t, f, "/f", data)
			must(t, f.Remove(t.Context(), "/f"))
		})
	}
}

// firstParts returns a content with only the first n parts.
func firstParts(all content, n int64) content {
	c := content{parts: map[int64]int64{}}
	for i := range n {
		c.parts[i] = all.parts[i]
	}
	return c
}

// TestQuotaInTheMiddle exceeds a quota with a part that is already stored.
func TestQuotaInTheMiddle(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	must(t, f.Mkdir(t.Context(), "/home", 0o755))
	must(t, f.SetQuota(t.Context(), "/home", 2*small, 10))
	w, err := f.Create(t.Context(), "/home/f", pfs.CreateOptions{})
	must(t, err)
	defer w.Close(t.Context())
	_, err = w.WriteAt(t.Context(), pfstest.Pattern(1, 3*small), 0)
	must(t, err)
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: 3 * small})
	pfstest.WantKind(t, err, pfs.Quota)
	pfstest.WantAbsent(t, f, "/home/f")
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: 2 * small})
	must(t, err)
}

// TestOddNames passes unusual names to the calls that put names into a URL.
func TestOddNames(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	for i, name := range []string{" ", "a b", "line\nbreak", "...", "*", "?", "[a]", "a\\b", "a;b", "a&b", "\"", "#", "%2F", "%00", "+", "=", ",",
		"文件", "🚣", "\x01", "\x7f", strings.Repeat("界", pfs.MaxName/3)} {
		p, data := pfs.Root.Join(name), pfstest.Pattern(uint64(i), small+i)
		pfstest.WriteFile(t, f, p, data)
		must(t, pfs.RenameExclusive(t.Context(), f, p, "/moved"))
		must(t, f.Mkdir(t.Context(), p, 0o755))
		pfstest.WriteFile(t, f, p.Join(name), data)
		pfstest.WantNames(t, f, p, name)
		pfstest.WantFile(t, f, p.Join(name), data)
		must(t, f.RemoveTree(t.Context(), p))
		must(t, f.Remove(t.Context(), "/moved"))
	}
}

// TestBlockLocations locates the blocks of a range.
func TestBlockLocations(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	pfstest.WriteFile(t, f, "/f", pfstest.Pattern(1, 2*small+5))
	got, err := pfs.LocateBlocks(t.Context(), f, "/f", small, small+5)
	must(t, err)
	if len(got) != 2 || got[0].Offset != small || got[0].Length != small || got[1].Length != 5 || len(got[0].Hosts) == 0 {
		t.Errorf("locations %+v", got)
	}
}

// TestAttemptCompare compares bytes with those that were written before.
func TestAttemptCompare(t *testing.T) {
	data := pfstest.Pattern(1, 3*checksumChunk+100)
	a := attempt{sums: new(datanode.Sums), n: int64(len(data))}
	for rest := data; len(rest) > 0; rest = rest[min(77, len(rest)):] {
		a.sums.Add(rest[:min(77, len(rest))])
	}
	other := append([]byte(nil), data...)
	other[700] ^= 1
	for _, c := range []struct {
		p    []byte
		off  int64
		want verdict
	}{
		{data, 0, same},
		{data[512:1024], 512, same},
		{data[1536:], 1536, same},
		{other, 0, different},
		{other[512:1024], 512, different},
		{data[:600], 0, unsure},
		{data[10:512], 10, unsure},
	} {
		if got := a.compare(c.p, c.off); got != c.want {
			t.Errorf("compare of %d at %d = %v, want %v", len(c.p), c.off, got, c.want)
		}
	}
}

// TestCreateCanceled cancels Create at different moments. The error always names the file,
// even if the canceled call was about its directory.
func TestCreateCanceled(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	for i := range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*20*time.Microsecond)
		w, err := f.Create(ctx, "/new", pfs.CreateOptions{})
		cancel()
		var e *pfs.Error
		switch {
		case err == nil:
			must(t, w.Close(ctx))
		case !errors.As(err, &e) || e.Kind != pfs.Canceled || e.Path != "/new":
			t.Errorf("after %d times 20 µs: %v", i, err)
		}
	}
}
