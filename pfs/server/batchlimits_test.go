package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// from sends a request of a user at an address, with a body that may never end.
func from(s *Server, user, address, target string, body io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", target, body)
	r.Header.Set("Authorization", "Bearer "+user)
	r.RemoteAddr = address + ":1"
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func framed(m any) []byte {
	var b bytes.Buffer
	_ = wire.WriteFrame(&b, m)
	return b.Bytes()
}

// smallBatch is a batch of one file of 5 bytes.
func smallBatch(path string) (lead, whole []byte) {
	lead = framed(wire.BatchRequest{Entries: []wire.BatchEntry{{Path: path, Size: 5}}})
	return lead, append(bytes.Clone(lead), onWire([]byte("12345"))...)
}

// halfSent sends the beginnings of batches as four users from four addresses, five times each. They
// end with the returned function.
func halfSent(s *Server, begin []byte) (end func()) {
	var ends []*io.PipeWriter
	for i := range 20 {
		body, end := io.Pipe()
		go from(s, fmt.Sprint("user", i%4), fmt.Sprint("192.0.2.", i%4), wire.PathBatch, body)
		go end.Write(begin)
		ends = append(ends, end)
	}
	synctest.Wait()
	return func() {
		for _, end := range ends {
			end.Close()
		}
		synctest.Wait()
	}
}

// TestSlowSendersOfBatches checks that a slow sender of content delays no reader, and a sender
// without even a message delays nobody.
func TestSlowSendersOfBatches(t *testing.T) {
	lead, whole := smallBatch("/f")
	read := framed(wire.ReadRequest{Files: []wire.ReadFile{{Path: "/g", Size: 5}}})
	for _, c := range []struct {
		name   string
		begin  []byte
		writes bool // another batch can be written meanwhile
	}{
		{"content", lead, false},
		{"leading message", lead[:5], true},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := memfs.New(memfs.Options{})
			pfstest.WriteFile(t, store, "/g", []byte("12345"))
			s, _ := newServer(t, store, nil)
			end := halfSent(s, c.begin)
			began := time.Now()
			if w := from(s, "bob", "192.0.2.9", wire.PathRead, bytes.NewReader(read)); w.Code != 200 || time.Since(began) > 0 {
				t.Errorf("%s: a read answers HTTP %d after %v", c.name, w.Code, time.Since(began))
			}
			if c.writes {
				if w := from(s, "bob", "192.0.2.9", wire.PathBatch, bytes.NewReader(whole)); w.Code != 200 || time.Since(began) > 0 {
					t.Errorf("%s: a batch answers HTTP %d after %v", c.name, w.Code, time.Since(began))
				}
			}
			end()
			for _, in := range []*slots{s.reads.leads, s.reads.work, s.writes.leads, s.writes.work} {
				if n := in.taken(); n > 0 {
					t.Errorf("%s: %d slots are left taken", c.name, n)
				}
			}
		})
	}
}

// TestWaitingBatchesAreBounded: the leading messages of batches that wait for their turn are
// in memory, too.
func TestWaitingBatchesAreBounded(t *testing.T) {
	lead, _ := smallBatch("/f")
	read := framed(wire.ReadRequest{Files: []wire.ReadFile{{Path: "/g", Size: 5}}})
	for target, begin := range map[string][]byte{wire.PathBatch: lead, wire.PathRead: read} {
		synctest.Test(t, func(t *testing.T) {
			store := &hanging{memfs.New(memfs.Options{}), make(chan struct{})}
			s, _ := newServer(t, store, nil)
			var received atomic.Int64
			var ends []*io.PipeWriter
			for i := range 8 * leads {
				body, sent := io.Pipe()
				ends = append(ends, sent)
				go from(s, fmt.Sprint("user", i%leads), fmt.Sprint("192.0.2.", i%leads), target, body)
				go func() {
					if _, err := sent.Write(begin); err == nil {
						received.Add(1)
					}
				}()
			}
			synctest.Wait()
			if n := received.Load(); n > batches+leads {
				t.Errorf("%s: %d leading messages are in memory, want %d at most", target, n, batches+leads)
			}
			close(store.end)
			for _, end := range ends {
				end.Close()
			}
		})
	}
}

// hanging is a store whose files are opened when end is closed.
type hanging struct {
	*memfs.FS
	end chan struct{}
}

func (h *hanging) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	select {
	case <-h.end:
	case <-ctx.Done():
	}
	return h.FS.Open(ctx, name)
}

// TestAnAddressHasAShareOfTheBatches: not even many accounts on one machine have them all.
func TestAnAddressHasAShareOfTheBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(batches, batches/3)
		var ends []func()
		for i := range batches / 2 {
			end, err := s.acquireFrom(t.Context(), fmt.Sprint("user", i), "192.0.2.1")
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, end)
		}
		if _, err := s.acquireFrom(t.Context(), "another", "192.0.2.1"); pfs.KindOf(err) != pfs.Limit {
			t.Errorf("beyond the share of the address: %v", err)
		}
		end, err := s.acquireFrom(t.Context(), "another", "192.0.2.2")
		if err != nil {
			t.Fatalf("from elsewhere: %v", err)
		}
		for _, end := range append(ends, end) {
			end()
		}
		if n := s.taken(); n > 0 {
			t.Errorf("%d slots are left taken", n)
		}
	})
}

// TestWritesAndBatchesShareTheirSlots: a user, and an address, have no second share for single writes.
func TestWritesAndBatchesShareTheirSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, memfs.New(memfs.Options{}), nil)
		lead, _ := smallBatch("/f")
		target := fmt.Sprintf("%s?path=/f&handle=%s&flags=%d", wire.PathWrite, pfs.NewID(), readWrite)
		var ends []*io.PipeWriter
		hang := func(user string) {
			for range batches {
				body, end := io.Pipe()
				go from(s, user, "192.0.2.1", wire.PathBatch, body)
				go end.Write(lead)
				write, endWrite := io.Pipe()
				r := httptest.NewRequest("PUT", target, write)
				r.ContentLength, r.RemoteAddr = 100, "192.0.2.1:1"
				r.Header.Set("Authorization", "Bearer "+user)
				go s.ServeHTTP(httptest.NewRecorder(), r)
				ends = append(ends, end, endWrite)
			}
			synctest.Wait()
		}
		hang("alice")
		if n := s.writes.work.taken(); n > batches/3 {
			t.Errorf("one user has %d of %d slots", n, batches)
		}
		hang("bob")
		if n := s.writes.work.taken(); n > batches/2 {
			t.Errorf("one address has %d of %d slots", n, batches)
		}
		for _, end := range ends {
			end.Close()
		}
	})
}

// TestSlowReadersAreGivenUp has a client read a byte now and then: the service ends the answer when
// the time for its bytes at the minimum rate has passed.
func TestSlowReadersAreGivenUp(t *testing.T) {
	const size = pfs.ChunkSize
	for target, request := range map[string]string{
		wire.PathRead:                  string(framed(wire.ReadRequest{Files: []wire.ReadFile{{Path: "/f", Size: size}}})),
		"/v1/data?path=/f&len=4194304": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			store := memfs.New(memfs.Options{})
			pfstest.WriteFile(t, store, "/f", make([]byte, size))
			s, _ := newServer(t, store, nil)
			c := serve(t, s)()
			defer c.Close()
			method := http.MethodGet
			if request != "" {
				method = http.MethodPost
			}
			began := time.Now()
			go io.WriteString(c, header(method, target, len(request))+request)
			buf := make([]byte, 4<<10)
			for {
				if _, err := io.ReadFull(c, buf); err != nil {
					break
				}
				time.Sleep(time.Second) // a quarter of the rate
			}
			most := pace.Stall + size/pace.Slowest*time.Second + pace.Stall
			if took := time.Since(began); took > most {
				t.Errorf("%s: the answer went on for %v, want at most %v", target, took, most)
			}
			time.Sleep(pace.Stall)
			if n := s.reads.work.taken() + s.requests.taken(); n > 0 {
				t.Errorf("%s: %d slots are still taken", target, n)
			}
		})
	}
}
