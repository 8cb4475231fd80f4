package server

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/synctest"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// changing is a store one of whose files is replaced before it is opened for the nth time.
type changing struct {
	*memfs.FS
	opens, nth int
	replace    func()
}

func (c *changing) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	if c.opens++; c.opens == c.nth {
		c.replace()
	}
	return c.FS.Open(ctx, name)
}

// gated is a store whose commits wait for the gate. It records the IDs of uploads.
type gated struct {
	*memfs.FS
	gate chan struct{}
	ids  []string
}

type gatedStaged struct {
	pfs.Staged
	g *gated
}

func (g *gated) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	g.ids = append(g.ids, opts.ID)
	w, err := g.FS.Create(ctx, name, opts)
	return &gatedStaged{w, g}, err
}

func (w *gatedStaged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	<-w.g.gate
	return w.Staged.Commit(ctx, opts)
}

// changingStores is a service of two stores, on the first of which /f becomes another
// version before it is opened for the nth time.
func changingStores(t *testing.T, nth int) (s *Server, to *gated, versions [2][]byte) {
	t.Helper()
	from := &changing{FS: memfs.New(memfs.Options{}), nth: nth}
	versions = [2][]byte{bytes.Repeat([]byte("first. "), 1000), bytes.Repeat([]byte("second."), 1000)}
	pfstest.WriteFile(t, from, "/f", versions[0])
	from.replace = func() { pfstest.WriteFile(t, from, "/f", versions[1]) }
	from.opens = 0
	to = &gated{FS: memfs.New(memfs.Options{}), gate: make(chan struct{}, 8)}
	s, _ = newServer(t, pfs.NewMux(pfs.Mount{At: "/a", FS: from, Dir: "/"}, pfs.Mount{At: "/b", FS: to, Dir: "/"}), nil)
	return s, to, versions
}

// wantWhole checks that the published file has its stored digest.
func wantWhole(t *testing.T, fsys pfs.FileSystem) {
	t.Helper()
	f, err := fsys.Open(t.Context(), "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(pfs.NewReader(t.Context(), f))
	if err != nil || f.Info().Digest != digest.Bytes(got) {
		t.Errorf("published are %d bytes %.10q with the digest %s, %v; want %s", len(got), got, f.Info().Digest, err, digest.Bytes(got))
	}
}

// TestTwoCopiesUnderOneIDDoNotMix asks for a copy twice under one ID, and replaces the
// source after the first is staged, and after the second was named.
func TestTwoCopiesUnderOneIDDoNotMix(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, to, versions := changingStores(t, 4)
		message := wire.Encode(wire.CopyRequest{Source: "/a/f", Target: "/b/f", ID: "0123456789abcdef0123"})
		ask := func() <-chan struct{} {
			answered := make(chan struct{})
			r := later(s, "POST", wire.PathCall+wire.CallCopy, bytes.NewReader(message), len(message))
			go func() { <-r; close(answered) }()
			return answered
		}
		first := ask()
		synctest.Wait()
		second := ask()
		synctest.Wait()
		to.gate <- struct{}{}
		<-first
		wantWhole(t, to.FS)
		close(to.gate)
		<-second
		wantWhole(t, to.FS)
		pfstest.WantFile(t, to.FS, "/f", versions[1])
	})
}

// TestACopyIsNamedByTheVersionThatItOpened replaces the source after it was examined and before it
// is opened: the upload has the ID of the version that was opened.
func TestACopyIsNamedByTheVersionThatItOpened(t *testing.T) {
	s, to, versions := changingStores(t, 2)
	to.gate <- struct{}{}
	if _, err := copyOver(t, s); err != nil {
		t.Fatal(err)
	}
	pfstest.WantFile(t, to.FS, "/f", versions[1])
	c := newCopy(&request{id: auth.Identity{Name: "alice"}}, "0123456789abcdef0123", "/a/f", "/b/f")
	want, err := c.versionID(t.Context(), s.cfg.View(auth.Identity{}, ""), "/a/f")
	if got := to.ids[0]; err != nil || got != want {
		t.Errorf("the second version is staged as %q, want its own %q, %v", got, want, err)
	}
}
