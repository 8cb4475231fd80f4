package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/server"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// anybody accepts every user as alice.
type anybody struct{}

func (anybody) Login(context.Context, string, string, string) (auth.Tokens, error) {
	return auth.Tokens{Access: "access", Refresh: "refresh", Expires: time.Now().Add(time.Hour)}, nil
}

func (a anybody) Refresh(ctx context.Context, _, _ string) (auth.Tokens, error) {
	return a.Login(ctx, "", "", "")
}

func (anybody) Logout(context.Context, string) (string, error) { return "", nil }

func (anybody) Verify(context.Context, string) (auth.Identity, error) {
	return auth.Identity{Name: "alice", Role: auth.User}, nil
}

// TestRetriesIsTheWholeNumber checks that a request that fails for the moment is sent
// once and --retries times more, whichever part of the program sends it.
func TestRetriesIsTheWholeNumber(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("up", []byte("up"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, down string // the path of requests that always fail
		args       []string
		want       int64
	}{
		{"before the copy", wire.PathCall + "stat", []string{"cp", "--retries", "2", "up", home + "/"}, 3},
		{"upload", wire.PathBatch, []string{"cp", "--retries", "2", "up", home + "/"}, 3},
		{"upload, never", wire.PathBatch, []string{"cp", "--retries", "0", "up", home + "/"}, 1},
		{"download", wire.PathData, []string{"cp", "--retries", "2", home + "/there", "down"}, 3},
		{"to standard output", wire.PathData, []string{"cp", "--retries", "2", home + "/there", "-"}, 3},
		{"sync", wire.PathBatch, []string{"sync", "--retries", "1", ".", home + "/d"}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := newHome(t)
			pfstest.WriteFile(t, fsys, home+"/there", make([]byte, 2<<20)) // too large for a batch
			up := server.New(server.Config{
				Auth: anybody{}, View: func(auth.Identity, string) pfs.FileSystem { return fsys }, Datacenters: []string{"dc"}, Current: "dc",
			})
			t.Cleanup(func() { up.Close() })
			var asked atomic.Int64
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != tt.down {
					up.ServeHTTP(w, r)
					return
				}
				asked.Add(1)
				w.Header().Set(wire.HeaderProtocol, "1")
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			t.Cleanup(front.Close)
			got := run(t, mainOf(t, front.URL, tt.args...))
			if got.code != cliio.Unavailable || asked.Load() != tt.want {
				t.Errorf("code %d after %d requests, want 6 after %d\n%s", got.code, asked.Load(), tt.want, got.stderr)
			}
			if strings.Contains(got.stderr, "secret") {
				t.Errorf("the password is shown: %s", got.stderr)
			}
		})
	}
}

// mainOf is a run of the program as alice of the service at endpoint.
func mainOf(t *testing.T, endpoint string, args ...string) *app.Main {
	t.Helper()
	m := testMain(t, nil, args...)
	m.Open = nil
	name := filepath.Join(t.TempDir(), "config")
	text := "datacenters:\n- name: dc\n  username: alice\n  password: secret\n  endpoint: " + endpoint + "\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Args = append([]string{m.Args[0], "--config", name}, args...)
	return m
}

// TestEveryCommandIsAsPatient runs commands while the service is away: each asks again for the same time.
func TestEveryCommandIsAsPatient(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("up", []byte("up"), 0o644); err != nil {
		t.Fatal(err)
	}
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(wire.HeaderProtocol, "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer away.Close()
	const patience = 300 * time.Millisecond
	var runs sync.WaitGroup
	for _, args := range []string{
		"ls DIR", "ls -R DIR", "stat DIR", "du DIR", "df DIR", "find DIR", "tree DIR", "cat DIR/f", "head DIR/f", "tail DIR/f",
		"mkdir DIR/d", "touch DIR/f", "chmod 600 DIR/f", "rm DIR/f", "rm -r DIR/d DIR/e", "mv DIR/f DIR/g", "cp up DIR/", "cp DIR/f down", "cp -r . DIR/",
		"sync . DIR/d", "verify . DIR/d", "verify --kept DIR/d .", "file get DIR/f down", "dataset info DIR/d", "recordio ls DIR/f",
	} {
		m := mainOf(t, away.URL, strings.Fields(strings.ReplaceAll(args, "DIR", home))...)
		m.Patience = patience
		began := time.Now()
		runs.Go(func() {
			got := run(t, m)
			if took := time.Since(began); got.code != cliio.Unavailable || took < patience/2 {
				t.Errorf("%s: code %d after %v\n%s", args, got.code, took, got.stderr)
			}
		})
	}
	runs.Wait()
}
