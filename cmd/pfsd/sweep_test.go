package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/namespace"
)

// swept is a store that notes how it is swept.
type swept struct {
	pfs.FileSystem
	err  error
	bug  bool
	when []time.Time
	age  time.Duration
	dirs []pfs.Path
}

func (s *swept) Sweep(_ context.Context, dir pfs.Path, age time.Duration) (int, int64, error) {
	s.when, s.age, s.dirs = append(s.when, time.Now()), age, append(s.dirs, dir)
	if s.bug {
		panic("no such luck")
	}
	return 3, 4096, s.err
}

// Every store is swept after ten minutes and then every day, whatever becomes of the others.
func TestSweeper(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	service, err := auth.Open(t.Context(), t.TempDir(), auth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	good, bad, buggy := &swept{}, &swept{err: errors.New("disk on fire")}, &swept{bug: true}
	without := struct{ pfs.FileSystem }{}
	stores := map[string]pfs.FileSystem{"good": good, "bad": bad, "buggy": buggy, "without": without}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			(&sweeper{stores: stores, dcs: []datacenter{{name: "bad"}, {name: "buggy"}, {name: "good"}, {name: "without"}}, auth: service, log: logger}).run(ctx)
		}()
		time.Sleep(firstSweep + 2*sweepEvery + time.Minute) // of the bubble's clock
		cancel()
		<-ended
		for _, s := range []*swept{good, bad, buggy} {
			if len(s.when) != 3 || !s.when[0].Equal(start.Add(firstSweep)) || s.when[2].Sub(s.when[1]) != sweepEvery {
				t.Errorf("swept at %v, started at %v", s.when, start)
			}
			if s.age != 7*24*time.Hour {
				t.Errorf("swept what is older than %v, want 7 days", s.age)
			}
		}
	})
	for want, n := range map[string]int{"disk on fire": 3, "no such luck": 3, "datacenter=good removed=3 bytes=4096": 3, "datacenter=without": 0, "sweep of sessions": 3} {
		if got := strings.Count(log.String(), want); got != n {
			t.Errorf("%q is logged %d times, want %d:\n%s", want, got, n, &log)
		}
	}
}

// Of a store that is not the service's alone only the service's part is swept.
func TestSweptDirectories(t *testing.T) {
	service, err := auth.Open(t.Context(), t.TempDir(), auth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mounts := []namespace.MappedDir{{Name: "images", Dir: "/old/images", ReadOnly: true}, {Name: "team", Dir: "/old/team"}}
	for _, row := range []struct {
		dc   datacenter
		want []pfs.Path
	}{
		{datacenter{name: "dc"}, []pfs.Path{"/"}},
		{datacenter{name: "dc", dir: "/pfs"}, []pfs.Path{"/pfs/home", "/pfs/public"}},
		{datacenter{name: "dc", mounts: mounts}, []pfs.Path{"/home", "/public", "/old/team"}},
	} {
		store := &swept{}
		s := &sweeper{stores: map[string]pfs.FileSystem{"dc": store}, dcs: []datacenter{row.dc}, auth: service, log: slog.New(slog.DiscardHandler)}
		s.sweep(t.Context())
		if !slices.Equal(store.dirs, row.want) {
			t.Errorf("swept %q, want %q", store.dirs, row.want)
		}
	}
}
