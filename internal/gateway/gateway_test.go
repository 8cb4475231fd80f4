package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

var home = gatewaytest.Home(gatewaytest.Alice)

// TestSession moves a file through a session, and looks at what is left in the metrics and in the audit log.
func TestSession(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	x := s.Session(t, gatewaytest.Alice, "test")
	content := bytes.Repeat([]byte("0123456789abcdef"), 50_000)
	err := x.Change(t.Context(), "put", func(ctx context.Context) error {
		w, err := x.FS().Create(ctx, home.Join("f"), pfs.CreateOptions{})
		if err != nil {
			return err
		}
		defer w.Close(ctx)
		_, err = w.WriteAt(ctx, content[:1000], 0)
		if err != nil {
			return err
		}
		_, err = gateway.Commit(ctx, x.FS(), home.Join("f"), w, pfs.CommitOptions{Size: 1000, NoReplace: true})
		return err
	}, "path", home.Join("f"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := x.FS().Create(t.Context(), home.Join("g"), pfs.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	if n, err := gateway.WriteAt(t.Context(), x, w, content, 0); n != len(content) || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	got := make([]byte, len(content)+10)
	if n, err := gateway.ReadAt(t.Context(), x, w, got, 0); !errors.Is(err, io.EOF) || !bytes.Equal(got[:n], content) {
		t.Errorf("%d bytes are read back, %v", n, err)
	}
	for _, want := range []string{"method=put", "protocol=test", "user=" + gatewaytest.Alice, "result=ok", "path=" + string(home) + "/f"} {
		if !strings.Contains(s.Log(), want) {
			t.Errorf("no %s in the log:\n%s", want, s.Log())
		}
	}
	metrics := gatewaytest.Ask(t, s.Server.Metrics(), "GET", "/metrics", "", nil).Body
	for _, want := range []string{
		`pfs_gateway_sessions{protocol="test"} 1`, `pfs_gateway_requests_total{operation="put",protocol="test",result="ok"} 1`,
		`pfs_sent_bytes_total 800000`, `pfs_received_bytes_total 800000`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
}

// TestTransfer takes as many places as a user may have: another user has places, and the user again when one is free.
func TestTransfer(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	x := s.Session(t, gatewaytest.Alice, "test")
	var end func()
	for range 64 {
		var err error
		if end, err = x.Transfer(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := x.Transfer(ctx); err == nil {
		t.Error("no limit for a user")
	}
	if _, err := s.Session(t, gatewaytest.Bob, "test").Transfer(t.Context()); err != nil {
		t.Errorf("another user: %v", err)
	}
	end()
	if _, err := x.Transfer(t.Context()); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

// TestRevoked changes the role of a user in the middle of a session.
func TestRevoked(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	x := s.Session(t, gatewaytest.Alice, "test")
	if err := x.Check(); err != nil {
		t.Fatal(err)
	}
	if err := s.Auth.Accounts().SetRole(t.Context(), gatewaytest.Alice, auth.Publisher); err != nil {
		t.Fatal(err)
	}
	err := x.Do(t.Context(), "stat", func(context.Context) error {
		t.Error("a request with revoked credentials is carried out")
		return nil
	})
	if !errors.Is(err, pfs.Unauthenticated) {
		t.Errorf("%v", err)
	}
}

// TestNew uses the operations that replace nothing, on a store that has them and on one that has not.
func TestNew(t *testing.T) {
	for name, opts := range map[string]memfs.Options{"atomic": {}, "looking": {Without: pfs.CanRenameNew}} {
		ctx, m := t.Context(), memfs.New(opts)
		pfstest.WriteFile(t, m, "/old", []byte("old"))
		pfstest.WriteFile(t, m, "/f", []byte("f"))
		commit := func(to pfs.Path) error {
			w, err := m.Create(ctx, to, pfs.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close(ctx)
			_, err = gateway.Commit(ctx, m, to, w, pfs.CommitOptions{NoReplace: true})
			return err
		}
		for what, err := range map[string]error{
			"MakeDir": gateway.MakeDir(ctx, m, "/old", 0o755), "RenameNew": gateway.RenameNew(ctx, m, "/f", "/old"), "Commit": commit("/old"),
			"WriteFile": gateway.WriteFile(ctx, m, pfs.BatchEntry{Path: "/old", NoReplace: true}),
		} {
			if !errors.Is(err, pfs.Exist) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		for what, err := range map[string]error{
			"MakeDir": gateway.MakeDir(ctx, m, "/d", 0o755), "RenameNew": gateway.RenameNew(ctx, m, "/f", "/g"), "Commit": commit("/h"),
			"WriteFile": gateway.WriteFile(ctx, m, pfs.BatchEntry{Path: "/i", NoReplace: true}),
		} {
			if err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

func TestETag(t *testing.T) {
	seen := map[string]bool{}
	for _, info := range []pfs.Info{{Version: "1-2"}, {Version: `"`}, {Size: 1}, {Size: 2}} {
		tag := gateway.ETag(info)
		if seen[tag] || !strings.HasSuffix(tag, `"`) {
			t.Errorf("%+v: %s", info, tag)
		}
		seen[tag] = true
	}
}
