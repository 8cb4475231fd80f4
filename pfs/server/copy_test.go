package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// narrow is a store on which only a given number of writes succeeds.
type narrow struct {
	*memfs.FS
	left, bytes atomic.Int64
}

func (n *narrow) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := n.FS.Create(ctx, name, opts)
	return &narrowStaged{w, n}, err
}

type narrowStaged struct {
	pfs.Staged
	n *narrow
}

func (w *narrowStaged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	if w.n.left.Add(-1) < 0 {
		return 0, pfs.E("test.WriteAt", "/f", pfs.Unavailable, nil)
	}
	if off < copySize { // bytes after it are not content
		w.n.bytes.Add(int64(len(p)))
	}
	return w.Staged.WriteAt(ctx, p, off)
}

const copySize = 10*pfs.ChunkSize + 77

// twoStores is a service of two stores, the second of which is narrow.
func twoStores(t *testing.T) (s *Server, from *memfs.FS, to *narrow, content []byte) {
	t.Helper()
	from, to = memfs.New(memfs.Options{}), &narrow{FS: memfs.New(memfs.Options{})}
	s, _ = newServer(t, pfs.NewMux(pfs.Mount{At: "/a", FS: from, Dir: "/"}, pfs.Mount{At: "/b", FS: to, Dir: "/"}), nil)
	content = bytes.Repeat([]byte("between stores. "), copySize/16+1)[:copySize]
	pfstest.WriteFile(t, from, "/f", content)
	return s, from, to, content
}

// copyOver copies /a/f to /b/f, and reads the answer whether it came at once or late.
func copyOver(t *testing.T, s *Server) (pfs.Info, error) {
	t.Helper()
	w := do(s, "POST", wire.PathCall+wire.CallCopy, wire.Encode(wire.CopyRequest{Source: "/a/f", Target: "/b/f", ID: "0123456789abcdef0123"}))
	f := wire.Frame{Done: true, Reply: w.Body.Bytes()}
	if late := w.Header().Get("Content-Type") == wire.TypeFrames; late {
		for f = (wire.Frame{}); !f.Done; {
			if err := wire.ReadFrame(w.Body, &f); err != nil {
				t.Fatal(err)
			}
		}
	} else if w.Code != http.StatusOK {
		f.Error = &wire.Error{}
		if err := wire.Decode(f.Reply, f.Error); err != nil {
			t.Fatal(err)
		}
	}
	if f.Error != nil {
		return pfs.Info{}, f.Error.Err()
	}
	var reply wire.InfoReply
	if err := wire.Decode(f.Reply, &reply); err != nil {
		t.Fatal(err)
	}
	return reply.Info.Info(), nil
}

func TestCopyBetweenStores(t *testing.T) {
	s, from, to, content := twoStores(t)
	to.left.Store(1 << 20)
	info, err := copyOver(t, s)
	if err != nil {
		t.Fatal(err)
	}
	source := pfstest.MustStat(t, from, "/f")
	if want := digest.Bytes(content); info.Size != copySize || info.Digest != want || !info.ModTime.Equal(source.ModTime) || info.Mode != source.Mode {
		t.Errorf("the copy is %+v, want digest %s and time and mode of %+v", info, want, source)
	}
	pfstest.WantFile(t, to.FS, "/f", content)
}

// TestCopyBetweenStoresGoesOn breaks a copy off and asks for it again.
func TestCopyBetweenStoresGoesOn(t *testing.T) {
	s, _, to, content := twoStores(t)
	to.left.Store(6)
	_, err := copyOver(t, s)
	pfstest.WantKind(t, err, pfs.Unavailable)
	pfstest.WantNames(t, to.FS, "/")
	before := to.bytes.Swap(0)
	if before < 4*pfs.ChunkSize {
		t.Fatalf("%d bytes were staged: nothing to go on with", before)
	}
	to.left.Store(1 << 20)
	if _, err := copyOver(t, s); err != nil {
		t.Fatalf("the copy, asked for again: %v", err)
	}
	if again := to.bytes.Load(); again != copySize-before {
		t.Errorf("%d bytes were written again, of %d that were missing", again, copySize-before)
	}
	pfstest.WantFile(t, to.FS, "/f", content)
}

// stuck is a store whose file /stuck is read without end.
type stuck struct{ *memfs.FS }

func (s stuck) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	f, err := s.FS.Open(ctx, name)
	if err == nil && name == "/stuck" {
		f = stuckFile{f}
	}
	return f, err
}

type stuckFile struct{ pfs.File }

func (stuckFile) ReadAt(ctx context.Context, _ []byte, _ int64) (int, error) {
	<-ctx.Done()
	return 0, pfs.CheckContext(ctx, "test.ReadAt", "/stuck")
}

// TestAUserWhoseStoreHangsHasOnlyAShareOfTheCopies checks that the copies of other users continue,
// and that further copies of this user get an answer.
func TestAUserWhoseStoreHangsHasOnlyAShareOfTheCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := stuck{memfs.New(memfs.Options{})}, memfs.New(memfs.Options{})
		pfstest.WriteFile(t, from.FS, "/stuck", []byte("content"))
		pfstest.WriteFile(t, from.FS, "/f", []byte("content"))
		s, _ := newServer(t, pfs.NewMux(pfs.Mount{At: "/a", FS: from, Dir: "/"}, pfs.Mount{At: "/b", FS: to, Dir: "/"}), nil)
		copyAs := func(ctx context.Context, user, source, target string) *httptest.ResponseRecorder {
			message := wire.Encode(wire.CopyRequest{Source: source, Target: target, ID: pfs.NewID()})
			r := httptest.NewRequest("POST", wire.PathCall+wire.CallCopy, bytes.NewReader(message)).WithContext(ctx)
			r.Header.Set("Authorization", "Bearer "+user)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w
		}
		ctx, cancel := context.WithCancel(t.Context())
		for i := range copyMemory / pfs.ChunkSize {
			go copyAs(ctx, "alice", "/a/stuck", fmt.Sprint("/b/stuck", i))
		}
		synctest.Wait()
		began := time.Now()
		if w := copyAs(t.Context(), "bob", "/a/f", "/b/bob"); w.Code != 200 || time.Since(began) > 0 {
			t.Errorf("bob's copy: HTTP %d after %v", w.Code, time.Since(began))
		}
		w := copyAs(t.Context(), "alice", "/a/f", "/b/alice")
		var f wire.Frame
		for !f.Done {
			if err := wire.ReadFrame(w.Body, &f); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began); f.Error == nil || pfs.KindOf(f.Error.Err()) != pfs.Limit || waited > 2*copyPatience {
			t.Errorf("one more copy of alice: %+v after %v", f.Error, waited)
		}
		cancel()
		synctest.Wait()
		if n := len(s.copies.users); n > 0 {
			t.Errorf("%d shares are left", n)
		}
	})
}

// damaged is a store whose files do not have the bytes that they keep the digest of.
type damaged struct{ *memfs.FS }

type damagedFile struct{ pfs.File }

func (d damaged) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	f, err := d.FS.Open(ctx, name)
	return damagedFile{f}, err
}

func (f damagedFile) Info() pfs.Info {
	info := f.File.Info()
	info.Digest = digest.Bytes([]byte("as it was written"))
	return info
}

// CopyFile hides that of the store.
func (d damaged) CopyFile(context.Context, pfs.Path, pfs.Path, pfs.CopyOptions, func(int64)) (pfs.Info, error) {
	return pfs.Info{}, pfs.E("damaged.CopyFile", "", pfs.Unsupported, nil)
}

// TestCopyOfADamagedFile copies a damaged file to another store, and within one that cannot copy
// itself.
func TestCopyOfADamagedFile(t *testing.T) {
	from, to := damaged{memfs.New(memfs.Options{})}, memfs.New(memfs.Options{})
	pfstest.WriteFile(t, from.FS, "/f", []byte("as it is now"))
	pfstest.MustMkdir(t, from, "/b")
	for name, tree := range map[string]pfs.FileSystem{
		"across": pfs.NewMux(pfs.Mount{At: "/a", FS: from, Dir: "/"}, pfs.Mount{At: "/b", FS: to, Dir: "/"}),
		"within": pfs.NewMux(pfs.Mount{At: "/a", FS: from, Dir: "/"}, pfs.Mount{At: "/b", FS: from, Dir: "/b"}),
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newServer(t, tree, nil)
			_, err := copyOver(t, s)
			pfstest.WantKind(t, err, pfs.Integrity)
			pfstest.WantNames(t, to, "/")
			pfstest.WantNames(t, from, "/b")
		})
	}
}
