package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// gappy refuses bytes after a gap, as stores do whose parts are written from their start.
type gappy struct{ *memfs.FS }

func (g gappy) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := g.FS.Create(ctx, name, opts)
	return gappyStaged{w}, err
}

type gappyStaged struct{ pfs.Staged }

func (w gappyStaged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off > 0 {
		return 0, pfs.Errorf("test.WriteAt", "/f", pfs.Integrity, "of the piece at byte 0 only 0 bytes are staged")
	}
	return w.Staged.WriteAt(ctx, p, off)
}

// TestGapIsNoAlarm has a client continue behind the staged bytes: it learns where to start. Only
// bytes damaged in transit are logged as an alarm.
func TestGapIsNoAlarm(t *testing.T) {
	s, log := newServer(t, gappy{memfs.New(memfs.Options{})}, nil)
	const id = "0123456789abcdef"
	if w := do(s, http.MethodPost, "/v1/call/create", wire.Encode(wire.CreateRequest{Path: "/f", ID: id})); w.Code != 200 {
		t.Fatalf("create: HTTP %d", w.Code)
	}
	put := func(off string, body []byte) {
		t.Helper()
		w := do(s, http.MethodPut, "/v1/data?path=/f&id="+id+"&off="+off, body)
		if got := kindOf(t, w); got != pfs.Integrity {
			t.Errorf("got %v, want Integrity", got)
		}
	}
	put("100", onWire([]byte("behind a gap")))
	if text := log.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "level=WARN") {
		t.Errorf("a gap is an alarm:\n%s", text)
	}
	body := onWire([]byte("damaged"))
	body[0] ^= 1
	put("0", body)
	if text := log.String(); !strings.Contains(text, "level=ERROR") {
		t.Errorf("damage on the way is no alarm:\n%s", text)
	}
}

// TestACommitAfterAKillIsNoAlarm checks that staged bytes that were lost in a restart are sent
// again without an alarm. Bytes that this service has verified cause an alarm if they differ from
// the sender's.
func TestACommitAfterAKillIsNoAlarm(t *testing.T) {
	store := memfs.New(memfs.Options{})
	before, _ := newServer(t, store, nil)
	create(t, before, "/f")
	put(t, before, "/f", "cont")

	for _, there := range []string{"cont", "cont\x00\x00\x00"} { // the content of a lost leaf
		s, log := newServer(t, store, nil)
		if code := commit(s, "/f", "content"); code != 422 {
			t.Errorf("commit of %q: HTTP %d", there, code)
		}
		if text := log.String(); !strings.Contains(text, "level=INFO") || strings.Contains(text, "level=ERROR") {
			t.Errorf("%q is an alarm:\n%s", there, text)
		}
		put(t, s, "/f", "CONTENT")
		if code := commit(s, "/f", "content"); code != 422 {
			t.Errorf("commit of other bytes: HTTP %d", code)
		}
		if text := log.String(); !strings.Contains(text, "level=ERROR") {
			t.Errorf("bytes that arrived and are not the sender's are no alarm:\n%s", text)
		}
		put(t, s, "/f", "cont\x00\x00\x00")
	}
}
