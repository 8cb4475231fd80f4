package server

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

func TestDedupCacheForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, done := newDedupCache(), 0
		call := func() outcome { done++; return outcome{} }
		again := dedupKey{"alice", "mkdir", "again"}
		for range 3 {
			o.do(t.Context(), again, call)
		}
		if done != 1 {
			t.Errorf("done %d times", done)
		}
		time.Sleep(remembered)
		o.do(t.Context(), dedupKey{"bob", "mkdir", "other"}, call)
		o.do(t.Context(), again, call)
		if done != 3 {
			t.Error("an outcome is remembered for too long")
		}
	})
}

func TestDedupCacheIsBounded(t *testing.T) {
	tests := []struct {
		name         string
		users, calls int
		reply        int
		kept         int
	}{
		{"one user", 1, 2 * ownRemembered, 0, ownRemembered},
		{"many users", 32, ownRemembered, 0, maxRemembered},
		{"large replies", 16, 256, maxReply - outcomeOverhead, maxBytes / maxReply},
		{"replies too large to keep", 2, 10, maxReply, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := newDedupCache()
			for user := range tt.users {
				for i := range tt.calls {
					key := dedupKey{fmt.Sprint("user", user), "batch", fmt.Sprint(i)}
					o.do(t.Context(), key, func() outcome { return outcome{reply: make([]byte, tt.reply)} })
				}
			}
			if o.kept.Len() != tt.kept || len(o.calls) != tt.kept {
				t.Errorf("%d outcomes are kept under %d keys, want %d", o.kept.Len(), len(o.calls), tt.kept)
			}
			sum := 0
			for _, c := range o.calls {
				sum += c.size
			}
			if o.bytes != sum || sum > maxBytes {
				t.Errorf("%d bytes are counted and %d kept, the bound is %d", o.bytes, sum, maxBytes)
			}
		})
	}
}

func TestOneUserDoesNotMakeOnceForgetAnother(t *testing.T) {
	o, done := newDedupCache(), 0
	call := func() outcome { done++; return outcome{} }
	bobs := dedupKey{"bob", "rename", "12345678"}
	o.do(t.Context(), bobs, call)
	for i := range 2 * maxRemembered {
		o.do(t.Context(), dedupKey{"mallory", "mkdir", fmt.Sprint(i)}, func() outcome { return outcome{} })
	}
	o.do(t.Context(), bobs, call)
	if done != 1 {
		t.Error("bob's rename was done twice")
	}
}

func TestFailuresForWantOfAStoreAreTriedAgain(t *testing.T) {
	o, done := newDedupCache(), 0
	key := dedupKey{"alice", "mkdir", "12345678"}
	o.do(t.Context(), key, func() outcome { return outcome{err: pfs.E("test", "", pfs.Unavailable, nil)} })
	o.do(t.Context(), key, func() outcome { done++; return outcome{} })
	if done != 1 {
		t.Error("a call that could not be done is not tried again")
	}
}

func TestBatchFailuresDoNotRepeatThePath(t *testing.T) {
	name := pfs.Path("/" + strings.Repeat("n", 255))
	if f := batchFailure(3, name, pfs.E("test", name, pfs.Quota, nil)); f.Index != 3 || f.Error.Path != "" {
		t.Errorf("%+v repeats the entry's path", f)
	}
	if f := batchFailure(3, name, pfs.E("test", "/else", pfs.Quota, nil)); f.Error.Path != "/else" {
		t.Errorf("%+v lacks the path", f)
	}
}
