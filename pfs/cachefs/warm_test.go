package cachefs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestWarm fetches a file in calls of a second or two.
func TestWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{FileSystem: memfs.New(memfs.Options{}), Network: &testbed.Network{Latency: 1100 * time.Millisecond}}
		data := pfstest.Pattern(1, 64*mib+5)
		pfstest.WriteFile(t, s.FileSystem, "/f", data)
		c := newCache(t, s, func(o *Options) { o.Requests, o.Size = 16, 1<<30 })
		defer c.Close()
		info := pfstest.MustStat(t, s.FileSystem, "/f")
		var w Warmed
		var calls int
		for before := int64(-1); w.Cached < info.Size || calls == 0; calls++ {
			start := time.Now()
			got, err := c.Warm(t.Context(), "/f", info)
			if took := time.Since(start); err != nil || got.Cached <= before || took > 5*time.Second {
				t.Fatalf("%+v after %+v: %v, %v", got, w, took, err)
			}
			w, before = got, got.Cached
		}
		if want := (Warmed{Size: info.Size, Cached: info.Size, Unread: info.Size, Limit: 1 << 30}); w != want || calls < 2 {
			t.Errorf("%+v after %d calls, want %+v", w, calls, want)
		}
		s.requests.Store(0)
		f := open(t, c, "/f")
		defer f.Close()
		readAll(t, f, data)
		wantRequests(t, s, 0)
		if w, err := c.Warm(t.Context(), "/f", info); err != nil || w.Unread != 0 {
			t.Errorf("after a program has opened it: %+v, %v", w, err)
		}
	})
}

func TestWarmFails(t *testing.T) {
	s, _ := newStore(t)
	c := newCache(t, s, nil)
	info := pfstest.MustStat(t, s.FileSystem, "/f")
	s.fault = func(context.Context, pfs.Path, []byte, int64) error { return pfs.Unavailable }
	if _, err := c.Warm(t.Context(), "/f", info); !errors.Is(err, pfs.Unavailable) {
		t.Errorf("an unreachable store: %v", err)
	}
	s.fault = nil
	if w, err := c.Warm(t.Context(), "/f", info); err != nil || w.Cached != info.Size {
		t.Errorf("later: %+v, %v", w, err)
	}
	pfstest.WriteFile(t, s.FileSystem, "/empty", nil)
	if w, err := c.Warm(t.Context(), "/empty", pfstest.MustStat(t, s.FileSystem, "/empty")); err != nil || w.Size != w.Cached {
		t.Errorf("an empty file: %+v, %v", w, err)
	}
	young := newCache(t, s, func(o *Options) { o.Settle = time.Hour })
	if _, err := young.Warm(t.Context(), "/f", info); !errors.Is(err, pfs.Unsupported) {
		t.Errorf("a file that has just been changed: %v", err)
	}
}
