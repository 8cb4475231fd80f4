package hdfsfs

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// silentNameNode is a file system that was opened, and whose NameNode takes connections
// and answers nothing since.
func silentNameNode(t *testing.T, timeout time.Duration) *FS {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	o, err := Options{
		NameNodes: []string{l.Addr().String()}, Root: "/", User: "u", Timeout: timeout,
		BlockSize: small, Replication: 3, Logger: slog.New(slog.DiscardHandler),
	}.checked()
	must(t, err)
	c := newCluster(o)
	c.service = c.newFS(acting{user: "u"}, c.newClient("u"))
	c.service.stage.made = true
	t.Cleanup(func() { c.service.Close() })
	return c.service
}

// TestSilentNameNode checks that Create ends after a few timeouts, and a batch of many files as
// soon as one of them shows that the NameNode is silent.
func TestSilentNameNode(t *testing.T) {
	const timeout, few = 200 * time.Millisecond, 5
	f := silentNameNode(t, timeout)
	began := time.Now()
	l, err := f.layout(t.Context())
	must(t, err)
	_, err = f.beginWith(t.Context(), "/new", l, []byte("x"))
	pfstest.WantKind(t, fail("op", "/f", err), pfs.Unavailable)
	if took := time.Since(began); took > few*timeout {
		t.Errorf("a file: %v, the timeout is %v", took, timeout)
	}

	var entries []pfs.BatchEntry
	for i := range 200 {
		e := pfs.BatchEntry{Path: pfs.Path(fmt.Sprintf("/f%d", i)), Data: []byte("x")}
		if i%50 == 0 {
			e.Mode, e.Data = fs.ModeDir|0o755, nil
		}
		entries = append(entries, e)
	}
	began = time.Now()
	for i, err := range f.WriteBatch(t.Context(), entries) {
		pfstest.WantKind(t, err, pfs.Unavailable)
		if e := err.(*pfs.Error); e.Path != entries[i].Path {
			t.Errorf("the error of %s is of %s", entries[i].Path, e.Path)
		}
	}
	if took := time.Since(began); took > few*timeout {
		t.Errorf("a batch: %v, the timeout is %v", took, timeout)
	}
}
