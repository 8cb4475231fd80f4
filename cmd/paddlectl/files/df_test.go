package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// reserving is a store of 100 bytes that keeps 20 of them back.
type reserving struct{ *memfs.FS }

func (reserving) Space(context.Context, pfs.Path) (pfs.Space, error) {
	return pfs.Space{Total: 100, Used: 60, Free: 20}, nil
}

// TestDfOfAStoreThatKeepsRoomBack: that is not used, and not available.
func TestDfOfAStoreThatKeepsRoomBack(t *testing.T) {
	for _, c := range []struct {
		json bool
		want string
	}{
		{false, "100 60 20 75% /pfs/dc/home"},
		{true, `{"path":"/pfs/dc/home","total":100,"used":60,"free":20}`},
	} {
		var out bytes.Buffer
		f := &df{App: app.New(&app.Main{Stdout: &out}), json: c.json, begun: true}
		if err := f.target(t.Context(), app.Target{FS: reserving{memfs.New(memfs.Options{})}, Path: "/pfs/dc/home"}); err != nil {
			t.Fatal(err)
		}
		if err := f.Out.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(out.String()), " "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// silentStores report their space once all of them were called.
type silentStores struct {
	*memfs.FS
	asked atomic.Int64
	all   int64
	come  chan struct{}
}

func (s *silentStores) Space(ctx context.Context, name pfs.Path) (pfs.Space, error) {
	if s.asked.Add(1) == s.all {
		close(s.come)
	}
	select {
	case <-s.come:
	case <-ctx.Done():
		return pfs.Space{}, pfs.E("test.Space", name, pfs.Unavailable, ctx.Err())
	}
	if name.Base() == "away" {
		return pfs.Space{}, pfs.E("test.Space", name, pfs.Unavailable, nil)
	}
	return pfs.Space{Total: 10, Used: 4, Free: 4}, nil
}

// TestDfAsksAllAtOnce: silent stores are waited for together, and the rows are in order.
func TestDfAsksAllAtOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	paths := []pfs.Path{"/pfs/dc1/home", "/pfs/dc1/mnt/away", "/pfs/dc1/mnt/b", "/pfs/dc1/public", "/pfs/dc2/home"}
	s := &silentStores{FS: memfs.New(memfs.Options{}), all: int64(len(paths)), come: make(chan struct{})}
	for _, p := range paths {
		if err := pfs.MkdirAll(ctx, s, p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	f := &df{App: app.New(&app.Main{Stdout: &out, Stderr: io.Discard})}
	if err := f.target(ctx, app.Target{FS: s, Path: "/pfs"}); errors.Is(err, context.DeadlineExceeded) || err == nil {
		t.Errorf("got %v, want that one store is away", err)
	}
	if err := f.Out.Flush(); err != nil {
		t.Fatal(err)
	}
	var got []pfs.Path
	for line := range strings.Lines(out.String()) {
		if fields := strings.Fields(line); fields[len(fields)-1] != "PATH" {
			got = append(got, pfs.Path(fields[len(fields)-1]))
		}
	}
	if want := slices.Delete(slices.Clone(paths), 1, 2); !slices.Equal(got, want) {
		t.Errorf("rows of %q, want %q\n%s", got, want, &out)
	}
}
