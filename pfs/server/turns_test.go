package server

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// countingStore has huge files of zeros, and counts the bytes that are being read.
type countingStore struct {
	pfs.FileSystem // without capabilities
	size           int64

	mu                       sync.Mutex
	busy, most, reads, piece int // bytes read now and at most, reads, and the longest
}

const readTime = turn / 10

func (s *countingStore) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	return countingFile{s}, nil
}

func (s *countingStore) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := s.FileSystem.Create(ctx, name, opts)
	return countingStaged{w, s}, err
}

// count counts a read of n bytes that begins, and of -n when it ends.
func (s *countingStore) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += n
	s.most = max(s.most, s.busy)
	s.piece = max(s.piece, n)
	s.reads++
}

// read reads zeros.
func (s *countingStore) read(p []byte, off int64) (int, error) {
	s.count(len(p))
	time.Sleep(readTime)
	s.count(-len(p))
	clear(p)
	if n := int(min(int64(len(p)), s.size-off)); n < len(p) {
		return max(n, 0), io.EOF
	}
	return len(p), nil
}

type countingFile struct{ s *countingStore }

func (f countingFile) Info() pfs.Info { return pfs.Info{Size: f.s.size} }
func (f countingFile) Close() error   { return nil }
func (f countingFile) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	return f.s.read(p, off)
}

type countingStaged struct {
	pfs.Staged
	s *countingStore
}

func (w countingStaged) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	return w.s.read(p, off)
}

// TestLongComputationsTakeTurns has one user request 64 long computations at a time. Only those
// whose turn it is hold memory, a short request of another user does not wait for them, and a long
// one gets every second turn.
func TestLongComputationsTakeTurns(t *testing.T) {
	const size = 1 << 40
	for _, c := range []struct {
		call    string
		message any
	}{
		{wire.CallDigest, wire.DigestRequest{Path: "/f", Algorithm: "blake3"}},
		{wire.CallLeaves, wire.LeavesRequest{Path: "/f", ID: "12345678", Size: size, Count: wire.MaxLeaves}},
		{wire.CallCommit, wire.CommitRequest{Path: "/f", ID: "12345678", Size: size}},
	} {
		t.Run(c.call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &countingStore{FileSystem: memfs.New(memfs.Options{}), size: size}
				bobs := &countingStore{FileSystem: store.FileSystem, size: pfs.ChunkSize}
				s, _ := newServer(t, nil, func(c *Config) {
					c.View = func(id auth.Identity, _ string) pfs.FileSystem {
						return map[string]pfs.FileSystem{"alice": store, "bob": bobs}[id.Name]
					}
				})
				s.turns = fair.New(1)
				create(t, s, "/f")
				ctx, cancel := context.WithCancel(t.Context())
				body := wire.Encode(c.message)
				for range 64 {
					r := httptest.NewRequest("POST", wire.PathCall+c.call, bytes.NewReader(body)).WithContext(ctx)
					r.Header.Set("Authorization", "Bearer alice")
					go s.ServeHTTP(httptest.NewRecorder(), r)
				}
				time.Sleep(100 * turn)
				synctest.Wait()
				store.mu.Lock()
				if store.reads < 1000 {
					t.Errorf("%d pieces were read in %v", store.reads/2, 100*turn)
				}
				if store.piece > pieceSize || store.most > 4*pieceSize {
					t.Errorf("pieces of %d bytes were read, %d bytes at a time", store.piece, store.most)
				}
				store.mu.Unlock()

				began := time.Now()
				stat := wire.Encode(wire.PathRequest{Path: "/"})
				if w := as(s, "bob", "POST", wire.PathCall+wire.CallStat, stat); w.Code != 200 || time.Since(began) > 0 {
					t.Errorf("bob's stat: HTTP %d after %v", w.Code, time.Since(began))
				}
				digest := wire.Encode(wire.DigestRequest{Path: "/g", Algorithm: "blake3"})
				w := as(s, "bob", "POST", wire.PathCall+wire.CallDigest, digest)
				if took, alone := time.Since(began), readTime*pfs.ChunkSize/pieceSize; w.Code != 200 || took > 5*alone/2 {
					t.Errorf("bob's digest: HTTP %d after %v, alone it takes %v", w.Code, took, alone)
				}
				cancel()
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := s.turns.Taken() + s.turns.Waiting() + s.requests.taken(); n > 0 {
					t.Errorf("%d turns and requests are left", n)
				}
			})
		})
	}
}
