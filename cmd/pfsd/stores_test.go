package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// buggy panics when it is asked.
type buggy struct{ pfs.FileSystem }

func (buggy) Stat(context.Context, pfs.Path) (pfs.Info, error) { panic("no such luck") }

func TestAStoreThatPanicsIsDown(t *testing.T) {
	m := memfs.New(memfs.Options{})
	s := &service{log: slog.New(slog.NewTextHandler(io.Discard, nil)), stores: map[string]pfs.FileSystem{"a": m, "b": buggy{m}}}
	if got := s.down(t.Context()); !slices.Equal(got, []string{"b"}) {
		t.Errorf("down = %q, want b", got)
	}
}

// A store that stays down is not logged at each request.
func TestTheLogTellsWhatStoresDoOnce(t *testing.T) {
	var out strings.Builder
	m := memfs.New(memfs.Options{})
	s := &service{log: slog.New(slog.NewTextHandler(&out, nil)), stores: map[string]pfs.FileSystem{"a": buggy{m}}}
	for range 3 {
		s.down(t.Context())
	}
	s.stores["a"] = m
	for range 3 {
		s.down(t.Context())
	}
	if log := out.String(); strings.Count(log, "\n") != 2 || !strings.Contains(log, "does not answer") || !strings.Contains(log, "answers again") {
		t.Errorf("the log says\n%s", log)
	}
}

// TestStoresAreOpenedAtTheSameTime delays each store: the service starts after one delay, with all
// stores that could be opened, in order, and reports the first error.
func TestStoresAreOpenedAtTheSameTime(t *testing.T) {
	for _, c := range []struct {
		broken string // URLs that cannot be opened
		want   string // part of the error
	}{
		{"", ""},
		{"test:b test:c", "datacenter b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			const patience = 30 * time.Second
			closed := 0
			s := &service{log: slog.New(slog.NewTextHandler(io.Discard, nil)), clusters: newClusters(nil), stores: map[string]pfs.FileSystem{}}
			for _, name := range []string{"a", "b", "c", "d"} {
				s.opts.datacenters = append(s.opts.datacenters, datacenter{name: name, store: backends.Spec{URL: "test:" + name}})
			}
			s.backend = func(_ context.Context, spec backends.Spec, _ backends.Caller) (backends.Store, error) {
				wait := patience
				if spec.URL == "test:c" {
					wait /= 2
				}
				time.Sleep(wait)
				switch {
				case strings.Contains(c.broken, spec.URL):
					return backends.Store{}, pfs.Errorf("test.Open", "", pfs.Invalid, "broken")
				case spec.URL == "test:d":
					return backends.Store{}, pfs.Errorf("test.Open", "", pfs.Unavailable, "away")
				}
				return backends.Store{FileSystem: memfs.New(memfs.Options{}), Close: func() error { closed++; return nil }}, nil
			}
			began := time.Now()
			err := s.openStores(t.Context())
			if took := time.Since(began); took != patience {
				t.Errorf("it took %v, want %v", took, patience)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("err = %v, want %q", err, c.want)
			}
			if !slices.Equal(s.late, []string{"d"}) {
				t.Errorf("late = %q", s.late)
			}
			want := len(s.opts.datacenters) - len(strings.Fields(c.broken))
			if got := slices.Sorted(maps.Keys(s.stores)); len(got) != want {
				t.Errorf("open are %q, want %d", got, want)
			}
			if err := s.close(); err != nil || closed != want-1 {
				t.Errorf("%d stores were closed, want %d; %v", closed, want-1, err)
			}
		})
	}
}

// A service whose address is taken, by one that runs as a rule, touches no store.
func TestListensBeforeStores(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	opened := false
	s := &service{log: slog.New(slog.DiscardHandler), clusters: newClusters(nil), stores: map[string]pfs.FileSystem{}}
	s.opts = serveOptions{data: dataFor(t), listen: taken.Addr().String(), noTLS: true, accessLife: time.Minute,
		datacenters: []datacenter{{name: "a", store: backends.Spec{URL: "mem:"}}}}
	s.backend = func(context.Context, backends.Spec, backends.Caller) (backends.Store, error) {
		opened = true
		return backends.Store{}, pfs.Unavailable
	}
	err = errors.Join(s.open(t.Context()), s.close())
	if err == nil || !strings.Contains(err.Error(), "--listen") || opened {
		t.Errorf("open = %v, a store was opened %v", err, opened)
	}
}
