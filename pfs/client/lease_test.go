package client

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/server"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// anybody accepts every user.
type anybody struct{ server.Authenticator }

func (anybody) Verify(context.Context, string) (auth.Identity, error) {
	return auth.Identity{Name: "alice"}, nil
}

// local is a service that is reached without a network, and counts the renewals.
type local struct {
	server   atomic.Pointer[server.Server]
	renewals atomic.Int64
}

func newLocalServer(fsys pfs.FileSystem) *server.Server {
	return server.New(server.Config{Auth: anybody{}, View: func(auth.Identity, string) pfs.FileSystem { return fsys }})
}

func (l *local) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == wire.PathCall+wire.CallRenew {
		l.renewals.Add(1)
	}
	w := httptest.NewRecorder()
	l.server.Load().ServeHTTP(w, r)
	return w.Result(), nil
}

// TestLeasesAreRenewed with one request for all handles, of which the one without a name
// shows that it is not opened again; until the client is closed.
func TestLeasesAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		fsys := memfs.New(memfs.Options{})
		l := &local{}
		first := newLocalServer(fsys)
		l.server.Store(first)
		c, err := New(Options{Endpoint: "http://service", Token: func(context.Context, string) (string, error) { return "t", nil }})
		if err != nil {
			t.Fatal(err)
		}
		c.http = &http.Client{Transport: l}
		var handles []pfs.Handle
		for _, name := range []pfs.Path{"/a", "/b", "/gone"} {
			h, err := c.OpenHandle(ctx, name, pfs.OpenRead|pfs.OpenWrite|pfs.OpenCreate, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			handles = append(handles, h)
		}
		if err := fsys.Remove(ctx, "/gone"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if n := l.renewals.Load(); n < 25 || n > 30 {
			t.Errorf("%d renewals in 10 minutes", n)
		}
		if _, err := handles[2].Stat(ctx); err != nil {
			t.Errorf("the lease was not renewed: %v", err)
		}

		// The handles are opened in the service that took the place of the first one before
		// they are used: a name may be lost by then.
		second := newLocalServer(fsys)
		l.server.Store(second)
		first.Close()
		time.Sleep(time.Minute)
		if err := fsys.Remove(ctx, "/a"); err != nil {
			t.Fatal(err)
		}
		if _, err := handles[0].Stat(ctx); err != nil {
			t.Errorf("after the restart: %v", err)
		}
		if _, err := handles[2].Stat(ctx); pfs.KindOf(err) != pfs.Stale {
			t.Errorf("after the restart a file without a name: %v", err)
		}

		for _, h := range handles[1:] {
			_ = h.Close(ctx)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		n := l.renewals.Load()
		time.Sleep(10 * time.Minute)
		if l.renewals.Load() != n {
			t.Error("leases are renewed after the client was closed")
		}
		second.Close()
	})
}
