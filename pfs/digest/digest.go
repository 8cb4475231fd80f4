// Package digest computes the tree digests by which pfs compares files, and the form in which
// stores keep them.
//
// A file is a sequence of leaves of pfs.ChunkSize bytes, the last one possibly short; an empty file
// has none. With H the hash of the algorithm, the digest is
//
//	H( size as 8 bytes big-endian | H(leaf 0) | H(leaf 1) | ... )
//
// written "algorithm:hex". So it can be computed in parallel, checked for a range and resumed, and
// two files with the same size and digest are equal unless there is a collision.
//
// Algorithms: "xxh3" is XXH3-128 (16 bytes, big-endian): it detects accidental changes at almost no
// cost, and transfers use it to compare files. "blake3" is BLAKE3-256: it also resists an
// adversary, and is used where a digest is a promise to others (verify, manifests).
package digest

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/zeebo/blake3"
	"github.com/zeebo/xxh3"
)

// The algorithms.
const (
	XXH3   = "xxh3"
	BLAKE3 = "blake3"
)

// Leaf returns the XXH3-128 of one leaf.
func Leaf(p []byte) pfs.LeafDigest { return xxh3.Hash128(p).Bytes() }

// Algorithm returns the part of a digest before the colon; "" if there is none.
func Algorithm(d string) string {
	a, _, _ := strings.Cut(d, ":")
	return a
}

// hasher computes the hash of a leaf or of the whole file.
type hasher interface {
	io.Writer
	Sum(b []byte) []byte
	Reset()
}

// xxh3Hasher adapts the streaming XXH3-128 to hash.Hash.
type xxh3Hasher struct{ xxh3.Hasher }

func (h *xxh3Hasher) Sum(b []byte) []byte {
	sum := h.Sum128().Bytes()
	return append(b, sum[:]...)
}

// newHasher returns the hash of an algorithm, or nil if it is unknown.
func newHasher(name string) hasher {
	switch name {
	case XXH3:
		return &xxh3Hasher{}
	case BLAKE3:
		return blake3.New()
	}
	return nil
}

// Known reports whether name is an algorithm of this package.
func Known(name string) bool { return newHasher(name) != nil }

// Tree computes the digest of one file from its leaves in order.
type Tree struct {
	name string
	root hasher
}

// NewTree begins the digest of a file of size bytes. It returns Unsupported for an unknown
// algorithm.
func NewTree(name string, size int64) (*Tree, error) {
	t := &Tree{name: name, root: newHasher(name)}
	if t.root == nil {
		return nil, pfs.Errorf("digest.NewTree", "", pfs.Unsupported,
			"digest algorithm %q: this program knows %q and %q", name, XXH3, BLAKE3)
	}
	t.root.Write(binary.BigEndian.AppendUint64(nil, uint64(size)))
	return t, nil
}

// LeafOf returns the hash of one leaf by any algorithm of this package, or nil if it is unknown.
func LeafOf(name string, p []byte) []byte {
	h := newHasher(name)
	if h == nil {
		return nil
	}
	_, _ = h.Write(p)
	return h.Sum(nil)
}

// Add adds the hash of the next leaf, as LeafOf returns it; for XXH3 that is Leaf's.
func (t *Tree) Add(leaf []byte) { t.root.Write(leaf) }

// Sum returns the digest after every leaf was added.
func (t *Tree) Sum() string { return t.name + ":" + hex.EncodeToString(t.root.Sum(nil)) }

// Bytes returns the XXH3 digest of content in memory.
func Bytes(p []byte) string {
	t, _ := NewTree(XXH3, int64(len(p)))
	for len(p) > 0 {
		n := min(len(p), pfs.ChunkSize)
		d := Leaf(p[:n])
		t.Add(d[:])
		p = p[n:]
	}
	return t.Sum()
}

// CheckKept returns Integrity if the XXH3 digest stored with info differs from sum, the digest of
// the content. op and name are for the error.
func CheckKept(op string, name pfs.Path, info pfs.Info, sum string) error {
	if Algorithm(info.Digest) != XXH3 || info.Digest == sum {
		return nil
	}
	return pfs.Errorf(op, name, pfs.Integrity,
		"damaged where it is stored: its bytes give %s and it was stored as %s: remove it and copy it again from an intact source", sum, info.Digest)
}

// ReadFunc fills p from offset off or fails.
type ReadFunc func(p []byte, off int64) error

// pieceSize is how much of a leaf is read and hashed at a time, so that memory does not depend on
// the size of leaves and a turn (pfs.InTurn) is short.
const pieceSize = 256 << 10

var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// readAt is the signature of pfs.File.ReadAt.
type readAt = func(ctx context.Context, p []byte, off int64) (int, error)

// addLeaf adds the n bytes at off to h, one buffer at a time; at the end of the file there may be
// fewer. It returns their number.
func addLeaf(ctx context.Context, h hasher, read readAt, off, n int64) (done int64, err error) {
	for done < n && err == nil {
		want, k := min(n-done, pieceSize), 0
		err = pfs.InTurn(ctx, func() (err error) {
			buf := pieces.Get().(*[pieceSize]byte) // taken inside the turn, so that waiting goroutines hold none
			defer pieces.Put(buf)
			k, err = read(ctx, buf[:want], off+done)
			_, _ = h.Write(buf[:k])
			return err
		})
		if done += int64(k); int64(k) < want {
			break
		}
	}
	if err == io.EOF {
		err = nil
	}
	return done, err
}

// maxJobs bounds the leaves of one file that are read at a time. More would take memory and make no
// store faster.
const maxJobs = 4

// Of reads the size bytes of a file, up to jobs leaves at a time, and returns its digest. It calls
// progress, if not nil, with the number of bytes done so far. Memory is at most a small buffer for
// each of those leaves.
func Of(ctx context.Context, read ReadFunc, size int64, name string, jobs int, progress func(done int64)) (string, error) {
	t, err := NewTree(name, size)
	if err != nil {
		return "", err
	}
	leaves := pfs.Leaves(size)
	jobs = int(min(int64(max(jobs, 1)), maxJobs, max(leaves, 1)))

	if leaves <= 1 {
		w := worker{hash: newHasher(name), read: read}
		if leaves == 1 {
			r := w.one(ctx, 0, size)
			if r.err != nil {
				return "", r.err
			}
			t.Add(r.sum)
		}
		if progress != nil {
			progress(size)
		}
		return t.Sum(), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	workers := make([]worker, jobs)
	for i := range workers {
		w := &workers[i]
		*w = worker{hash: newHasher(name), read: read, size: size, first: int64(i), step: int64(jobs), results: make(chan result)}
		wg.Go(func() { w.run(ctx) })
	}
	for i := range leaves {
		r := workers[i%int64(jobs)].next(ctx)
		if r.err != nil {
			return "", r.err
		}
		t.Add(r.sum)
		if progress != nil {
			progress(min(size, (i+1)*pfs.ChunkSize))
		}
	}
	return t.Sum(), nil
}

// worker hashes every step-th leaf of a file, starting at first. Taking one result from each worker
// in turn yields the leaves in order; a worker is at most one leaf ahead.
type worker struct {
	hash        hasher
	read        ReadFunc
	size        int64
	first, step int64
	results     chan result
}

// result is the hash of one leaf, or an error.
type result struct {
	sum []byte
	err error
}

// run sends results until all are sent or ctx is done.
func (w *worker) run(ctx context.Context) {
	for i := w.first; i < pfs.Leaves(w.size); i += w.step {
		off := i * pfs.ChunkSize
		select {
		case w.results <- w.one(ctx, off, min(pfs.ChunkSize, w.size-off)):
		case <-ctx.Done():
			return
		}
	}
}

// one hashes the leaf of n bytes at off.
func (w *worker) one(ctx context.Context, off, n int64) result {
	w.hash.Reset()
	read := func(ctx context.Context, p []byte, off int64) (int, error) {
		err := pfs.CheckContext(ctx, "digest.Of", "")
		if err == nil {
			err = pfs.Guard("digest.Of", "", func() error { return w.read(p, off) })
		}
		return len(p), err
	}
	if _, err := addLeaf(ctx, w.hash, read, off, n); err != nil {
		return result{err: err}
	}
	return result{sum: w.hash.Sum(nil)}
}

// next returns the next result.
func (w *worker) next(ctx context.Context) result {
	select {
	case r := <-w.results:
		return r
	case <-ctx.Done():
		return result{err: pfs.CheckContext(ctx, "digest.Of", "")}
	}
}

// Leaves returns the digests of up to n leaves starting at first, of content of size bytes; fewer
// at the end. It implements LeafDigests for a store that has to read; read is its ReadAt, op and
// name are for the error.
func Leaves(ctx context.Context, op string, name pfs.Path, read readAt, size, first int64, n int) ([]pfs.LeafDigest, error) {
	if size < 0 || first < 0 || n < 0 {
		return nil, pfs.Errorf(op, name, pfs.Invalid, "%d leaves from %d on, of %d bytes", n, first, size)
	}
	count := min(int64(n), pfs.Leaves(size)-first)
	var leaves []pfs.LeafDigest
	for i := first; i < first+count; i++ {
		length := min(pfs.ChunkSize, size-i*pfs.ChunkSize)
		d, k, err := LeafAt(ctx, read, i*pfs.ChunkSize, length)
		if err != nil {
			return nil, err
		}
		if k < length {
			break
		}
		leaves = append(leaves, d)
	}
	return leaves, nil
}

// LeafAt returns the digest of the leaf of n bytes at off, and how many of them could be read; read
// is a ReadAt.
func LeafAt(ctx context.Context, read readAt, off, n int64) (d pfs.LeafDigest, done int64, err error) {
	var h xxh3Hasher
	done, err = addLeaf(ctx, &h, read, off, n)
	return h.Sum128().Bytes(), done, err
}

// OfFile returns the digest of an open file.
func OfFile(ctx context.Context, f pfs.File, name string, jobs int, progress func(done int64)) (string, error) {
	read := func(p []byte, off int64) error { return pfs.ReadFull(ctx, f, p, off) }
	return Of(ctx, read, f.Info().Size, name, jobs, progress)
}

// OfCopy reads back w, an unpublished copy of src, and returns its digest. It compares that with
// the digest stored with src, or else with one computed from src, and returns Integrity if they
// differ. op and name are for the error.
func OfCopy(ctx context.Context, op string, name pfs.Path, w pfs.Staged, from pfs.Path, src pfs.File) (string, error) {
	size, want := src.Info().Size, src.Info().Digest
	jobs := runtime.GOMAXPROCS(0)
	var err error
	if !Known(Algorithm(want)) {
		if want, err = OfFile(ctx, src, XXH3, jobs, nil); err != nil {
			return "", err
		}
	}
	read := func(p []byte, off int64) error {
		n, err := w.ReadAt(ctx, p, off)
		switch {
		case n == len(p):
			return nil
		case err == nil || err == io.EOF:
			return pfs.Errorf(op, name, pfs.Integrity, "%d of %d bytes were staged", off+int64(n), size)
		}
		return err
	}
	got, err := Of(ctx, read, size, Algorithm(want), jobs, nil)
	if err != nil {
		return "", err
	}
	if got != want {
		return "", pfs.Errorf(op, name, pfs.Integrity,
			"the copy is %s, and %s is %s: one of them does not have the bytes that were written", got, from, want)
	}
	return got, nil
}

// Stored returns the digest of the current bytes of the file name, computed by the file system if
// it can, else by reading.
func Stored(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, algorithm string, progress func(done int64)) (string, error) {
	if c, ok := fsys.(pfs.Digester); ok {
		d, err := c.Digest(ctx, name, algorithm, progress)
		if !errors.Is(err, pfs.Unsupported) {
			return d, err
		}
	}
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return OfFile(ctx, f, algorithm, 2, progress)
}
